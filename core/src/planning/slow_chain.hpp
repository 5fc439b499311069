// Chains that mix slowly, where plain sweeps would take 1/(1-gamma) of them and more.
//
// (I - gamma P) x = b, or its transpose, by BiCGStab (van der Vorst, 1992) with symmetric Gauss-Seidel sweeps before it:
// with I - gamma P = D - L - U, forward = D - L and backward = D - U, the matrix that is iterated on is
//
//     D forward^{-1} (I - gamma P) backward^{-1} y = D (t + forward^{-1} (y - D t)),   t = backward^{-1} y    (Eisenstat)
//
// which costs two sweeps. What counts in the end is the plain residual, from which callers bound the error.
#pragma once

#include "planning/chain.hpp"

namespace vb {

enum class Side { values, visits };  // I - gamma P, or its transpose

// The size of a residual: the spread of its entries for values, to which MacQueen's bounds add a constant; their sum of
// absolute values for visits.
double residual_size(Side side, const double* residual, Index n);

// Moves x towards the solution, until the residual is of size `enough` or rounding stops it; false where nothing was
// gained, x unchanged. `spare` is (kSlowSpare, S) scratch.
inline constexpr Index kSlowSpare = 11;
bool solve_slow_chain(const Chain& chain, Side side, const double* b, double* x, double enough, Matrix spare);

}  // namespace vb
