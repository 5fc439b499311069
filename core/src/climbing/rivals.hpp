// Maxima that were found before. A climb on its way to one of them, or to less, is given up.
#pragma once

#include "common/numbers.hpp"

namespace vb {

struct Rivals {
    ConstMatrix y;              // (count or more, free)
    ConstMatrix result;         // (count or more, 3), the objective first
    Grid<const Index> policy;   // (count or more, S), or empty where policies are not compared
    Index count = 0;

    double objective(Index k) const { return result[k][0]; }
};

// A step from y, with the policy there.
struct Approaching {
    const double* y;
    const double* move;
    const Index* policy;
    double f;
};

// Whether it leads from a point that is no higher to one of them: what it misses is a small part of the step, and the policy is
// the same.
bool leads_to_rival(const Rivals& rivals, const Approaching& step);

// The same for where a climb by sweeps stands: it is next to one of them, with nothing left to win, or it would have to win
// much more than the `rise` that its slope promises to reach the best of them. `noise` is what f may be off.
struct Standing {
    double f;
    double rise;
    double noise;
};
bool is_hopeless(const Rivals& rivals, const Standing& standing, const double* y);

}  // namespace vb
