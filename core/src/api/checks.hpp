// What the interface asks of numbers and indices that come from outside.
#pragma once

#include "common/checks.hpp"

namespace vb {

inline bool not_negative(double x) { return vb::isfinite(x) && x >= 0.0; }

// An array that must be there unless it is empty.
inline bool is_given(const void* array, Index n) { return n == 0 || array != nullptr; }

}  // namespace vb
