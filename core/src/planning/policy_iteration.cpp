#include "planning/policy_iteration.hpp"

#include "linalg/lu.hpp"
#include "planning/bellman.hpp"

namespace vb {

namespace {

constexpr Index kMostPolicies = 500;  // a handful are needed; rounding could make two ties alternate

struct Improvement {
    Index changed = 0;
    double residual = 0.0;  // max |T V - V|: actions that tie within rounding count with what they are better by
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
        double best = Q[chosen], top = best;
        for (Index a = 0; a < model.num_actions; ++a) {
            top = larger(top, Q[a]);
            if (Q[a] > best + margin) {
                best = Q[a];
                chosen = a;
            }
        }
        found.changed += chosen != policy[s];
        policy[s] = chosen;
        found.residual = larger(found.residual, vb::fabs(top - V[s]));
    }
    return found;
}

// Minus gamma P(.|s,a).
void write_full_row(const Model& model, const double* p, double* row) {
    for (Index j = 0; j < model.num_states; ++j) row[j] = -model.discount * p[j];
}

void write_row(const Model& model, const double* p, Index pair, double* row) {
    fill(row, model.num_states, 0.0);
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        row[model.successor[i]] -= model.discount * p[i];
    }
}

}  // namespace

void evaluate_by_factors(Planner& planner, const double* p, const Index* policy, double* V) {
    const Model& model = *planner.model;
    const Matrix lu = planner.lu;
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, policy[s]);
        V[s] = model.reward[pair];
        if (planner.full) {
            write_full_row(model, p + pair * lu.cols, lu[s]);
        } else {
            write_row(model, p, pair, lu[s]);
        }
        lu[s][s] += 1.0;
        if (model.reward_next == nullptr) continue;
        const Index begin = model.pair_begin[pair];
        V[s] += dot(p + begin, model.reward_next + begin, model.pair_begin[pair + 1] - begin);
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
