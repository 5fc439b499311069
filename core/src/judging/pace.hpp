// What plans and losses of a quartet share: which draws it holds, and how long it is swept.
#pragma once

#include "judging/draws.hpp"

namespace vb {

inline double most_of(const Lanes& x) {
    double most = x[0];
    for (Index j = 1; j < kLanes; ++j) most = x[j] > most ? x[j] : most;
    return most;
}

// The quartet holds these draws, at most four, and V is their V*.
void choose_four(Draws& draws, ConstIndices which);

// Sweeps X over what is listed until the residual of each draw spreads over no more than `enough`; false where that would take
// long.
bool sweep_until(Quartet& four, double* X, const Lanes& enough);

}  // namespace vb
