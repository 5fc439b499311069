// From a point along a step to one where f has risen enough.
#pragma once

#include "climbing/ascent.hpp"

namespace vb {

struct Progress {
    bool risen = false;
    double f = 0.0;
    double length = 0.0;  // of the step taken, at most 1
};

// Moves the point, with its p, policy, V and lu, to the first of step, step/2, step/4, ... where f rises by a part of
// what its slope promises. The first one leaves observed transitions a tenth of their probability. Where none rises the point
// stays, evaluated again.
Progress line_search(Ascent& run);

}  // namespace vb
