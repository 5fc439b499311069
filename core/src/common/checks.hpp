// What is asked of numbers and indices that come from outside. No array is fine where there is nothing to look at.
#pragma once

#include "common/elementary.hpp"
#include "common/view.hpp"

namespace vb {

inline bool all_finite(const double* values, Index n) {
    if (values == nullptr) return n == 0;
    for (Index i = 0; i < n; ++i) {
        if (!isfinite(values[i])) return false;
    }
    return true;
}

inline bool all_within(const Index* values, Index n, Index limit) {
    if (values == nullptr) return n == 0;
    for (Index i = 0; i < n; ++i) {
        if (values[i] < 0 || values[i] >= limit) return false;
    }
    return true;
}

}  // namespace vb
