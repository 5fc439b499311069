// Cholesky factors of small symmetric matrices.
#pragma once

#include "common/view.hpp"

namespace vb {

// Lower factor of a symmetric (n, n) matrix; false where it is not safely positive definite.
bool cholesky(ConstMatrix matrix, Matrix lower);

// inverse = lower^{-1}, lower triangular
void invert_lower(ConstMatrix lower, Matrix inverse);

}  // namespace vb
