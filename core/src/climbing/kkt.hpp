// How far a point is from optimal.
//
// The KKT residual is max(|grad f + normals' mu|, mu * slack) over all blocks, relative to max(1, |grad f|), the
// gradient in theta. The gap bounds max over v in P of <grad f, v - theta>; without bias it bounds how far f is
// below its maximum.
#pragma once

#include "climbing/workspace.hpp"

namespace vb {

// Sets work.residual and work.gap at the point, for the multipliers at hand.
void judge(const Problem& problem, const Point& at, Workspace& work);

}  // namespace vb
