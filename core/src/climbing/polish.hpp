// The last steps of a climb, which use the factors of one program again.
//
// Near the top a new quadratic program changes little but costs most where there are many free coordinates. Its factors
// give a step on the face where it ended, and the multipliers there, for one gradient each.
#pragma once

#include "climbing/workspace.hpp"

namespace vb {

inline constexpr double kNear = 1e-3;     // from this residual on factors of the last program are used again ...

// Whether that pays at the point: one block of many coordinates, and near the top.
bool worth_polishing(const Problem& problem, const Workspace& work);

// Steps with the factors of the last program, each for one gradient; returns f. Each has to make the residual, `before` at
// first, so much smaller. Ends at the target, or where a step would leave the face or no longer pays. Everything belongs
// to the point then, residual and gap included.
double polish(const Problem& problem, double f, double before, Point& at, Workspace& work);

}  // namespace vb
