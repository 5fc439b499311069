// A hidden-model MDP: the state is seen, and which of K candidates is true is not (vbmle/bayes.h has the equations).
#pragma once

#include "common/numbers.hpp"

namespace vb {

struct HiddenModel {
    Index num_states = 0, num_actions = 0, num_candidates = 0;
    Index stages = 1;    // of places; one where the steps have no end
    bool ends = false;   // whether nothing is earned after the last stage
    double discount = 0.0;
    const Index* pair_begin = nullptr;  // (pairs + 1,)
    const Index* successor = nullptr;   // (transitions,)
    const double* p = nullptr;          // (transitions, K)
    const double* reward = nullptr;     // (pairs, K)
    const double* known = nullptr;      // (places, K)

    Index num_places() const { return stages * num_states; }
    Index num_pairs() const { return num_states * num_actions; }
    Index pair(Index place, Index action) const { return place % num_states * num_actions + action; }
    bool is_allowed(Index pair) const { return reward[pair * num_candidates] > -kInfinity; }

    // The place after a step to a state, or -1 where that is the end.
    Index place_after(Index place, Index state) const {
        if (!ends) return state;
        const Index stage = place / num_states + 1;
        return stage < stages ? stage * num_states + state : -1;
    }
};

}  // namespace vb
