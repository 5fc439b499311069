#include "planning/policy_iteration.hpp"

#include "common/tuning.hpp"
#include "linalg/lu.hpp"
#include "planning/bellman.hpp"

namespace vb {

namespace {

struct Improvement {
    Index changed = 0;
    double residual = 0.0;  // max |T V - V|: actions that tie within rounding count with what they are better by
};

// Makes the policy greedy for V. Actions that tie within rounding stay.
Improvement improve(Planner& planner, const Valuation& at) {
    const Model& model = *planner.model;
    action_values(planner, at.p, at.V);
    const double margin = tuning.policies_tie * kEpsilon * (1.0 + largest_size(at.V, model.num_states));
    Improvement found;
    for (Index s = 0; s < model.num_states; ++s) {
        const double* Q = planner.Q.data + model.pair(s, 0);
        Index chosen = at.policy[s];
        double best = Q[chosen], top = best;
        for (Index a = 0; a < model.num_actions; ++a) {
            top = larger(top, Q[a]);
            if (Q[a] > best + margin) {
                best = Q[a];
                chosen = a;
            }
        }
        found.changed += chosen != at.policy[s];
        at.policy[s] = chosen;
        found.residual = larger(found.residual, vb::fabs(top - at.V[s]));
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

void evaluate_by_factors(const Planner& planner, const Valuation& at) {
    const Model& model = *planner.model;
    const Matrix lu = at.lu;
    const double* p = at.p;
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, at.policy[s]);
        at.V[s] = model.reward[pair];
        if (planner.full) {
            write_full_row(model, p + pair * lu.cols, lu[s]);
        } else {
            write_row(model, p, pair, lu[s]);
        }
        lu[s][s] += 1.0;
        if (model.reward_next == nullptr) continue;
        const Index begin = model.pair_begin[pair];
        at.V[s] += dot(p + begin, model.reward_next + begin, model.pair_begin[pair + 1] - begin);
    }
    lu_factor(lu);
    lu_solve(lu, at.V);
}

double policy_iteration(Planner& planner, const Valuation& at) {
    double residual = kInfinity;
    for (Index k = 0; k < tuning.policies_most; ++k) {
        evaluate_by_factors(planner, at);
        const double before = residual;
        const Improvement found = improve(planner, at);
        residual = found.residual;
        if (found.changed == 0) return residual;
        const bool tiny = residual <= tuning.policies_settled * (1.0 + largest_size(at.V, planner.model->num_states));
        if (residual >= before && tiny) break;  // only ties alternate now
    }
    evaluate_by_factors(planner, at);
    return residual;
}

}  // namespace vb
