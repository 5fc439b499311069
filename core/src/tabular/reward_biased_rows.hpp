// Reward-biased maximum likelihood where each pair (s, a) has a distribution, a row of p, of its own.
//
//     f(p) = sum_i n_i log p_i + bias * V*(state; p)
//
// Linearised in V at the model at hand (envelope theorem, w the discounted visits from the state on), each pair is a
// problem in closed form (biased_pair.hpp) with
//
//     c = bias * w(s) on the policy, 0 off it,      g = r + gamma V.
//
// Each step moves all pairs towards these solutions, which is uphill, as far as f rises enough; at a fixed point they are
// the distributions themselves, and KKT holds. Pairs never visited cost no likelihood: they stand on their best successor.
// From a fixed point single actions are switched for as long as f rises.
#pragma once

#include "planning/planner.hpp"

namespace vb {

// Data of one problem.
struct TabularProblem {
    const double* counts = nullptr;  // (transitions,) n
    const double* visits = nullptr;  // (pairs,) sums of n
    double bias = 0.0;
    Index state = 0;
    double tolerance = 1e-12;  // of the linearised gap, relative to 1 + |f|
    Index limit = 1000;        // steps of one climb
};

struct TabularResult {
    double objective = 0.0;  // f
    double gap = kInfinity;  // what the linearised objective may still gain
};

// The model in force, and room to work in.
struct RewardBiasedRows {
    const Model* model = nullptr;
    Planner planner;
    Matrix lu;                      // (S, S) of the policy, or empty where sweeps are used
    Vector p;                       // (transitions,) the model in force
    Indices policy;                 // (S,) optimal for it
    Vector V, w;                    // (S,)
    Vector gain, target, trial;     // (transitions,)
    Indices trial_policy;           // (S,)
    View<std::uint8_t> refused;     // (pairs,) switches that did not pay
};

RewardBiasedRows make_reward_biased_rows(Arena& arena, const Model& model, Method method);

// p, at first, is uniform over the possible transitions of each pair.
void begin_uniform(RewardBiasedRows& rows);

// Moves p and the policy from where they are to a fixed point.
TabularResult solve(const TabularProblem& problem, RewardBiasedRows& rows);

}  // namespace vb
