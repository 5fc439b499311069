// The quadratic program that gives one block its step.
#pragma once

#include "climbing/workspace.hpp"

namespace vb {

// Adds a multiple of the identity to B that keeps the unconstrained maximum within a million diameters. The ridge is in B
// already; where it is not enough for a safe factorisation, more is added.
void soften(Matrix B, const double* slope, double diameter, double ridge);

// Solves for the step of block b at the point, with curvature B; active facets and multipliers are kept, and
// `num_guess` facets of the last program are tried first.
QpStatus solve_block(const Problem& problem, Index b, Matrix B, Index num_guess, Point& at, Workspace& work);

}  // namespace vb
