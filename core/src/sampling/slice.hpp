// The part of a line on which the posterior is above a level.
//
// With p_i(t) = p_i (1 + t r_i) the log density changes by sum n_i log(1 + t r_i), which is concave in t, so what lies
// above a level below its value at t = 0 is an interval. Its ends are found by Newton's method from outside.
#pragma once

#include "common/view.hpp"

namespace vb {

// A line through the point at hand.
struct Line {
    Index count = 0;                 // transitions seen
    const double* weight = nullptr;  // (count,) n
    const double* ratio = nullptr;   // (count,) r, relative change of p for t = 1
};

struct Excess {
    double value;  // sum n log(1 + t r) - level; minus infinity where a 1 + t r is not positive
    double slope;  // its derivative
};

Excess excess(const Line& line, double t, double level);

// How far from t = 0 towards sign (1 or -1) the log density stays above the level (< 0), at most `bound`. The error is
// 1e-10, in log density or relative to the distance.
double crossing(const Line& line, double level, double sign, double bound);

}  // namespace vb
