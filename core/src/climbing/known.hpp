// Maxima at hand, with which a climb is compared on its way. One that is on its way to them, or to less, is given up.
#pragma once

#include "climbing/workspace.hpp"

namespace vb {

struct Known {
    ConstMatrix y;              // (count or more, free)
    ConstMatrix result;         // (count or more, 3), the objective first
    Grid<const Index> policy;   // (count or more, S), or empty where policies are not compared
    Index count = 0;

    double objective(Index k) const { return result[k][0]; }
};

// Whether work.step leads from the point, which is no higher, to one of them: what it misses is a small part of the step, and
// the policy is the same.
bool lands_on_known(const Known& known, double f, const Point& at, const Workspace& work);

// The same for where a climb by sweeps stands: it is next to one of them, with nothing left to win, or it would have to win
// more than three times the `rise` that its slope promises to reach the best of them. `noise` is what f may be off.
struct Standing {
    double f;
    double rise;
    double noise;
};
bool is_hopeless(const Known& known, const Standing& standing, const double* y);

}  // namespace vb
