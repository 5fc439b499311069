// LU without pivoting, for I - gamma P: rows are diagonally dominant, so no pivot can grow or vanish.
#pragma once

#include "common/view.hpp"

namespace vb {

// Overwrites an (n, n) matrix with its LU factors: below the diagonal L, whose own diagonal is one; above it U; on it
// the inverses of U's diagonal, so that solving needs no division.
void lu_factor(Matrix matrix);

// x becomes the solution of (LU) z = x.
void lu_solve(ConstMatrix lu, double* x);

// Every column of X becomes the solution of (LU) z = x.
void lu_solve_columns(ConstMatrix lu, Matrix X);

// x becomes the solution of (LU)' z = x.
void lu_solve_transposed(ConstMatrix lu, double* x);

}  // namespace vb
