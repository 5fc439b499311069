// What is known of the system: which transitions are possible, their features, and the rewards.
//
// A pair is one (s, a), numbered s * num_actions + a. Its transitions are pair_begin[pair] .. pair_begin[pair + 1].
// An action that is not allowed has the reward minus infinity.
#pragma once

#include "model/features.hpp"

namespace vb {

struct Model {
    Index num_states = 0;
    Index num_actions = 0;
    Index num_pairs = 0;
    Index num_transitions = 0;
    double discount = 0.0;
    const Index* pair_begin = nullptr;          // (pairs + 1,)
    const std::int32_t* successor = nullptr;    // (transitions,) the state a transition leads to
    const double* reward = nullptr;             // (pairs,)
    const double* reward_next = nullptr;        // (transitions,) where rewards depend on the next state, else null
    Features features;

    Index pair(Index state, Index action) const { return state * num_actions + action; }

    // r(s,a,s') + gamma V(s'): what transition i brings beyond the reward of its pair
    double gain(Index i, const double* V) const {
        double value = discount * V[successor[i]];
        return reward_next == nullptr ? value : value + reward_next[i];
    }
};

}  // namespace vb
