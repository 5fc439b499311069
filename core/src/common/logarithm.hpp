// Sums of logarithms that vector units can take: the logarithm by a polynomial instead of a call per number.
#pragma once

#include "common/numbers.hpp"

namespace vb {

// sum of weight[i] * log(x[i]); every x must be positive and finite
double weighted_log_sum(const double* weight, const double* x, Index n);

}  // namespace vb
