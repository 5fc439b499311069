// Bellman operators over the transition pattern.
#pragma once

#include "planning/planner.hpp"

namespace vb {

// R(s,a) of every pair at p: the model's own, or planner.reward where rewards depend on the next state.
const double* expected_rewards(Planner& planner, const double* p);

// What that returned last.
const double* rewards_at_hand(const Planner& planner);

// planner.Q = Q(s,a) of every pair, for V
void action_values(Planner& planner, const double* p, const double* V);

// The same for rewards R(s,a) that are known already.
void action_values_for(Planner& planner, const double* p, const double* reward, const double* V);

// The first pair whose probabilities are no distribution, or -1. Those of pairs that are not allowed need only be finite.
Index broken_pair(const Planner& planner, const double* p);

// Both at once, so that p is read once: planner.Q for V, unless a pair is broken, which is returned.
Index checked_action_values(Planner& planner, const double* p, const double* V);

// out = max_a Q and a greedy policy, the action in force kept where it ties; the range of out - V
Range greedy(const Model& model, const double* Q, const double* V, double* out, Index* policy);

// out = T V with its greedy policy; the range of T V - V. out must not be V.
Range bellman_sweep(Planner& planner, const double* p, const double* V, double* out, Index* policy);

// The lowest action of each state whose Q ties with the best, to within rounding of sizes like V's.
void lowest_best(const Model& model, const double* Q, Index* policy);

}  // namespace vb
