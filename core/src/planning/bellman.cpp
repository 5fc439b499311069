#include "planning/bellman.hpp"

namespace vb {

const double* expected_rewards(Planner& planner, const double* p) {
    const Model& model = *planner.model;
    if (model.reward_next == nullptr) return model.reward;
    for (Index pair = 0; pair < model.num_pairs; ++pair) {
        double total = model.reward[pair];
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) total += p[i] * model.reward_next[i];
        planner.reward[pair] = total;
    }
    return planner.reward.data;
}

void action_values(Planner& planner, const double* p, const double* V) {
    const Model& model = *planner.model;
    const double* reward = expected_rewards(planner, p);
    double* Q = planner.Q.data;
    for (Index pair = 0; pair < model.num_pairs; ++pair) {
        double total = 0.0;
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) total += p[i] * V[model.successor[i]];
        Q[pair] = reward[pair] + model.discount * total;
    }
}

Range greedy(const Model& model, const double* Q, const double* V, double* out, Index* policy) {
    Range change{kInfinity, -kInfinity};
    for (Index s = 0; s < model.num_states; ++s) {
        const double* own = Q + model.pair(s, 0);
        double best = -kInfinity;
        Index chosen = 0;
        for (Index a = 0; a < model.num_actions; ++a) {  // selects, not branches: the best action cannot be guessed
            chosen = own[a] > best ? a : chosen;
            best = larger(best, own[a]);
        }
        if (own[policy[s]] < best) policy[s] = chosen;
        out[s] = best;
        change.low = smaller(change.low, best - V[s]);
        change.high = larger(change.high, best - V[s]);
    }
    return change;
}

Range bellman_sweep(Planner& planner, const double* p, const double* V, double* out, Index* policy) {
    action_values(planner, p, V);
    return greedy(*planner.model, planner.Q.data, V, out, policy);
}

}  // namespace vb
