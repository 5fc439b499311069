#include "planning/planner.hpp"

#include "common/tuning.hpp"
#include "linalg/lu.hpp"
#include "planning/policy_iteration.hpp"
#include "planning/slow_chain.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

static_assert(kSpare >= 3 * kTogether && kSpare >= kSlowSpare);

// Whether the transitions of all pairs lead to all states, in order; a model without a pattern means that.
bool is_full(const Model& model) {
    if (model.pair_begin == nullptr) return true;
    if (model.num_transitions != model.num_pairs * model.num_states) return false;
    for (Index pair = 0; pair < model.num_pairs; ++pair) {
        if (model.pair_begin[pair] != pair * model.num_states) return false;
        const std::int32_t* successor = model.successor + pair * model.num_states;
        for (Index j = 0; j < model.num_states; ++j) {
            if (successor[j] != j) return false;
        }
    }
    return true;
}

Planner make_common(Arena& arena, const Model& model) {
    Planner planner;
    planner.model = &model;
    planner.full = is_full(model);
    planner.Q = arena.take<double>(model.num_pairs);
    if (model.reward_next != nullptr) planner.reward = arena.take<double>(model.num_pairs);
    planner.next = arena.take<double>(model.num_states);
    planner.rest = arena.take<double>(model.num_states);
    return planner;
}

}  // namespace

Planner make_planner(Arena& arena, const Model& model, Method method) {
    if (method == Method::factors) return make_common(arena, model);
    Planner planner = make_lean_planner(arena, model);
    planner.spare = arena.matrix(kSpare, model.num_states);
    return planner;
}

Planner make_lean_planner(Arena& arena, const Model& model) {
    Planner planner = make_common(arena, model);
    planner.method = Method::sweeps;
    planner.chain = make_chain(arena, model, planner.full);
    planner.direct = make_direct(arena, model, planner.full);
    planner.contest.pair = arena.take<std::int32_t>(model.num_pairs);
    return planner;
}

Matrix make_factors(Arena& arena, const Planner& planner) {
    if (!planner.factors()) return {};
    return arena.matrix(planner.model->num_states, planner.model->num_states);
}

double sweep_precision(double discount) {
    const double rest = 1.0 - discount;
    return larger(tuning.sweep_precision / rest, 4.0 * kEpsilon / (rest * rest));
}

double rounding_of_values(double discount, const double* reward, Index pairs) {
    double largest = 1.0;
    for (Index pair = 0; pair < pairs; ++pair) {
        if (reward[pair] != -kInfinity) largest = larger(largest, vb::fabs(reward[pair]));
    }
    return 4.0 * kEpsilon / ((1.0 - discount) * (1.0 - discount)) * largest;
}

void first_allowed(const Model& model, Index* policy) {
    for (Index s = 0; s < model.num_states; ++s) {
        policy[s] = 0;
        while (policy[s] + 1 < model.num_actions && model.reward[model.pair(s, policy[s])] == -kInfinity) ++policy[s];
    }
}

double optimal_value(Planner& planner, const Valuation& at, double precision) {
    const double discount = planner.model->discount;
    if (planner.factors()) return policy_iteration(planner, at) / (1.0 - discount);
    return modified_policy_iteration(planner, at.p, {precision}, at.policy, at.V);
}

double held_value(Planner& planner, const Valuation& at, double precision) {
    const double discount = planner.model->discount;
    if (!planner.factors()) return evaluate_by_sweeps(planner, at.p, {precision}, at.policy, at.V);
    evaluate_by_factors(planner, at);
    return 4.0 * kEpsilon / ((1.0 - discount) * (1.0 - discount));
}

void solve_columns(Planner& planner, const Valuation& at, Matrix X, double accuracy) {
    if (planner.factors()) {
        lu_solve_columns(at.lu, X);
    } else {
        solve_by_sweeps(planner, at.p, at.policy, X, accuracy);
    }
}

}  // namespace vb
