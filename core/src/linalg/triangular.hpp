// Cholesky factors that bear nearly flat directions, and solving with them. Lower triangles by rows; what is above the
// diagonal is neither read nor written.
#pragma once

#include "common/view.hpp"

namespace vb {

// The lower triangle of a positive semidefinite matrix becomes its Cholesky factor. A pivot is never less than the
// square root of 1e-14 times the diagonal entry: directions that are flat up to rounding stay possible.
void cholesky_with_floor(Matrix matrix);

// x becomes L^{-1} x
void solve_lower(ConstMatrix lower, double* x);

// x becomes L^{-T} x
void solve_lower_transposed(ConstMatrix lower, double* x);

}  // namespace vb
