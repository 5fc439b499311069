#include "planning/bellman.hpp"

#include "common/tuning.hpp"
#include "linalg/product.hpp"

namespace vb {

const double* expected_rewards(Planner& planner, const double* p) {
    const Model& model = *planner.model;
    if (model.reward_next == nullptr) return model.reward;
    for (Index pair = 0; pair < model.num_pairs; ++pair) {
        const Index begin = model.pair_begin[pair], end = model.pair_begin[pair + 1];
        planner.reward[pair] = model.reward[pair] + dot(p + begin, model.reward_next + begin, end - begin);
    }
    return planner.reward.data;
}

const double* rewards_at_hand(const Planner& planner) {
    return planner.reward.empty() ? planner.model->reward : planner.reward.data;
}

namespace {

// planner.Q of the pairs first .. last
void some_action_values(Planner& planner, const double* p, const double* reward, const double* V, Index first, Index last) {
    const Model& model = *planner.model;
    double* Q = planner.Q.data;
    if (planner.full) {
        multiply_rows({p + planner.begin(first), last - first, model.num_states}, V, Q + first);
    } else {
        for (Index pair = first; pair < last; ++pair) Q[pair] = planner.ahead(p, pair, V);
    }
    for (Index pair = first; pair < last; ++pair) Q[pair] = reward[pair] + model.discount * Q[pair];
}

bool is_broken(const Planner& planner, const double* p, Index pair) {
    const Index begin = planner.begin(pair), n = planner.begin(pair + 1) - begin;
    const Total found = total_of(p + begin, n);
    if (planner.model->reward[pair] == -kInfinity && isfinite(found.sum)) return false;
    return !(fabs(found.sum - 1.0) <= tuning.distribution_rounding && found.least >= 0.0);
}

}  // namespace

void action_values_for(Planner& planner, const double* p, const double* reward, const double* V) {
    some_action_values(planner, p, reward, V, 0, planner.model->num_pairs);
}

Index broken_pair(const Planner& planner, const double* p) {
    for (Index pair = 0; pair < planner.model->num_pairs; ++pair) {
        if (is_broken(planner, p, pair)) return pair;
    }
    return -1;
}

Index checked_action_values(Planner& planner, const double* p, const double* V) {
    const Model& model = *planner.model;
    const double* reward = expected_rewards(planner, p);
    for (Index first = 0; first < model.num_pairs; first += model.num_actions) {
        const Index last = first + model.num_actions;
        for (Index pair = first; pair < last; ++pair) {
            if (is_broken(planner, p, pair)) return pair;
        }
        some_action_values(planner, p, reward, V, first, last);
    }
    return -1;
}

void action_values(Planner& planner, const double* p, const double* V) {
    action_values_for(planner, p, expected_rewards(planner, p), V);
}

Range greedy(const Model& model, const double* Q, const double* V, double* out, Index* policy) {
    Range change{kInfinity, -kInfinity};
    const Index actions = model.num_actions;
    for (Index s = 0; s < model.num_states; ++s, Q += actions) {
        double best = Q[0];
        Index chosen = 0;
        for (Index a = 1; a < actions; ++a) {  // selects, not branches: the best action cannot be guessed
            chosen = Q[a] > best ? a : chosen;
            best = larger(best, Q[a]);
        }
        policy[s] = Q[policy[s]] < best ? chosen : policy[s];
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

void lowest_best(const Model& model, const double* Q, Index* policy) {
    const Index actions = model.num_actions;
    for (Index s = 0; s < model.num_states; ++s, Q += actions) {
        double best = Q[0];
        for (Index a = 1; a < actions; ++a) best = larger(best, Q[a]);
        Index chosen = 0;  // the last where Q is no number, which none is near
        while (chosen + 1 < actions && !(best - Q[chosen] <= tuning.actions_tie * (1.0 + vb::fabs(best)))) ++chosen;
        policy[s] = chosen;
    }
}

}  // namespace vb
