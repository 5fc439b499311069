#include "planning/policy_iteration.hpp"

#include "linalg/lu.hpp"
#include "planning/bellman.hpp"

namespace vb {

namespace {

constexpr Index kMostPolicies = 500;  // a handful are needed; rounding could make two ties alternate

struct Improvement {
    Index changed = 0;
    double residual = 0.0;  // max |T V - V|
};

// Makes the policy greedy for V. Actions that tie within rounding stay.
Improvement improve(Planner& planner, const double* p, const double* V, Index* policy) {
    const Model& model = *planner.model;
    action_values(planner, p, V);
    const double margin = 16.0 * kEpsilon * (1.0 + largest_size(V, model.num_states));
    Improvement found;
    for (Index s = 0; s < model.num_states; ++s) {
        const double* Q = planner.Q.data + model.pair(s, 0);
        Index chosen = policy[s];
        double best = Q[chosen];
        for (Index a = 0; a < model.num_actions; ++a) {
            if (Q[a] > best + margin) {
                best = Q[a];
                chosen = a;
            }
        }
        found.changed += chosen != policy[s];
        policy[s] = chosen;
        found.residual = larger(found.residual, std::fabs(best - V[s]));
    }
    return found;
}

}  // namespace

void evaluate_by_factors(Planner& planner, const double* p, const Index* policy, double* V) {
    const Model& model = *planner.model;
    const Matrix lu = planner.lu;
    fill(lu.data, lu.rows * lu.cols, 0.0);
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, policy[s]), begin = model.pair_begin[pair], end = model.pair_begin[pair + 1];
        double* row = lu[s];
        row[s] = 1.0;
        for (Index i = begin; i < end; ++i) row[model.successor[i]] -= model.discount * p[i];
        V[s] = model.reward[pair];
        if (model.reward_next != nullptr) V[s] += dot(p + begin, model.reward_next + begin, end - begin);
    }
    lu_factor(lu);
    lu_solve(lu, V);
}

double policy_iteration(Planner& planner, const double* p, Index* policy, double* V) {
    double residual = kInfinity;
    for (Index k = 0; k < kMostPolicies; ++k) {
        evaluate_by_factors(planner, p, policy, V);
        const double before = residual;
        const Improvement found = improve(planner, p, V, policy);
        residual = found.residual;
        if (found.changed == 0) return residual;
        const bool tiny = residual <= 1e-12 * (1.0 + largest_size(V, planner.model->num_states));
        if (residual >= before && tiny) break;  // only ties alternate now
    }
    evaluate_by_factors(planner, p, policy, V);
    return residual;
}

}  // namespace vb
