// What the interface asks of numbers and indices that come from outside.
#pragma once

#include "common/elementary.hpp"
#include "common/view.hpp"

namespace vb {

inline bool not_negative(double x) { return vb::isfinite(x) && x >= 0.0; }

inline bool all_finite(const double* values, Index n) {
    for (Index i = 0; i < n; ++i) {
        if (!isfinite(values[i])) return false;
    }
    return true;
}

inline bool all_within(const Index* values, Index n, Index limit) {
    for (Index i = 0; i < n; ++i) {
        if (values[i] < 0 || values[i] >= limit) return false;
    }
    return true;
}

// An array that must be there unless it is empty.
inline bool is_given(const void* array, Index n) { return n == 0 || array != nullptr; }

}  // namespace vb
