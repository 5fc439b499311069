// The best distribution within an L1 ball (Jaksch, Ortner and Auer 2010):
//
//     maximise <p, gain>   over distributions p on the successors of a pair with |p - estimate|_1 <= radius.
//
// It puts radius/2 more on the best successor and takes it from the worst. Successors are kept sorted by gain from one
// sweep to the next, all that is known of them moving together, so that sorting costs little once values settle and
// sums run along memory.
#pragma once

#include "common/numbers.hpp"

namespace vb {

// The successors of one pair or of all pairs, in the order of increasing gain as of the last look.
struct RankedSuccessors {
    std::int32_t* state = nullptr;
    double* estimate = nullptr;   // frequency
    double* reward = nullptr;     // r(s,a,s'), or null where it does not depend on s'
    double* gain = nullptr;
    Index count = 0;

    RankedSuccessors of(Index first, Index last) const {
        double* own_reward = reward == nullptr ? nullptr : reward + first;
        return {state + first, estimate + first, own_reward, gain + first, last - first};
    }
};

// By increasing gain: insertion, quick where they are nearly sorted, and those that tie keep their order.
void rank(RankedSuccessors& successors);

// The maximum, for successors ranked by gain; at least one.
double best_mean(const RankedSuccessors& successors, double radius);

// p itself, in the order of the successors; `p` may be their gains.
void best_weights(const RankedSuccessors& successors, double radius, double* p);

}  // namespace vb
