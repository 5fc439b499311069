// How far a point is from optimal.
//
// The KKT residual is max(|grad f + normals' mu|, mu * slack) over all blocks, relative to max(1, |grad f|), the
// gradient in theta. The gap bounds max over v in P of <grad f, v - theta>; without bias it bounds how far f is
// below its maximum.
#pragma once

#include "climbing/objective.hpp"

namespace vb {

struct Verdict {
    double residual = 1.0;  // relative KKT residual
    double gap = kInfinity;
};

// The verdict on a point, for multipliers of its active facets, (free,) block by block. `rest`, (free,), becomes grad f +
// normals' mu: what of the slope the multipliers leave.
Verdict judge(const Problem& problem, const Point& at, const Slope& slope, const double* multiplier, double* rest);

}  // namespace vb
