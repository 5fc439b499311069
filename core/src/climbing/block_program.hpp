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

// The same for one block of dense features, on the frame that the last program left, as it is: only where a facet is dropped
// the curvature is asked for, along the direction that becomes free. False where there is no such frame, or it is of no use.
bool solve_on_frame(const Problem& problem, Point& at, Workspace& work);

}  // namespace vb
