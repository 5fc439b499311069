// What a planner handle holds.
#pragma once

#include "planning/planner.hpp"
#include "vbmle.h"

struct vb_planner {
    vb::Arena arena;
    vb::Planner planner;
    vb::Matrix lu;  // of the policy, or empty where sweeps are used
    vb_planner_view at;

    vb::Valuation valuation() const { return {at.p, at.policy, at.V, lu}; }
    const vb::Model& model() const { return *planner.model; }
    double precision() const { return vb::sweep_precision(model().discount); }
    bool is_state(vb::Index state) const { return state >= 0 && state < model().num_states; }

    // Whether the policy, which Python can write, takes allowed actions only: no other may reach a loop.
    bool fits() const {
        for (vb::Index s = 0; s < model().num_states; ++s) {
            if (at.policy[s] < 0 || at.policy[s] >= model().num_actions || !allowed(s)) return false;
        }
        return true;
    }
    bool allowed(vb::Index state) const { return model().reward[model().pair(state, at.policy[state])] != -vb::kInfinity; }
};
