#include "planning/known_model.hpp"

#include "common/tuning.hpp"
#include "planning/bellman.hpp"
#include "planning/policy_iteration.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

// What one Bellman sweep from V = 0 gives, without reading p.
void begin_with_rewards(const Model& model, double* V) {
    for (Index s = 0; s < model.num_states; ++s) {
        V[s] = -kInfinity;
        for (Index a = 0; a < model.num_actions; ++a) V[s] = larger(V[s], model.reward[model.pair(s, a)]);
    }
}

// By sweeps; false where a pair is broken, or where sweeps take too long and factors are the way out.
bool plan_by_sweeps(Planner& planner, Arena& arena, const double* p, double goal, KnownPlan& plan) {
    const Model& model = *planner.model;
    begin_with_rewards(model, plan.V);
    plan.broken_pair = checked_action_values(planner, p, plan.V);
    if (plan.broken_pair >= 0) return false;
    const Range first = greedy(model, planner.Q.data, plan.V, planner.next.data, plan.policy);
    const SweepLimits short_way{goal, tuning.sweep_inner, tuning.sweep_short_way};
    const SweepLimits long_way{goal, tuning.sweep_inner, tuning.sweep_long_way};
    plan.error = continue_iteration(planner, p, short_way, first, plan.policy, plan.V);
    if (plan.error <= goal || factors_fit(model)) return plan.error <= goal;
    planner.spare = arena.matrix(kSpare, model.num_states);  // without it, sweeps go on as they did
    plan.error = modified_policy_iteration(planner, p, long_way, plan.policy, plan.V);
    return true;
}

void plan_by_factors(Planner& planner, Matrix lu, const double* p, KnownPlan& plan) {
    const double residual = policy_iteration(planner, {p, plan.policy, plan.V, lu});
    plan.error = residual / (1.0 - planner.model->discount);
}

}  // namespace

bool rewards_fit(const Model& model) {
    for (Index s = 0; s < model.num_states; ++s) {
        bool any = false;
        for (Index a = 0; a < model.num_actions; ++a) {
            const double value = model.reward[model.pair(s, a)];
            if (vb::isnan(value) || value == kInfinity) return false;
            any = any || value != -kInfinity;
        }
        if (!any) return false;
    }
    return true;
}

Status plan_known(const Model& model, const double* p, double tolerance, KnownPlan& plan) {
    Arena arena;
    const bool few = method_for_known_plan(model) == Method::factors;
    Planner planner = few ? make_planner(arena, model, Method::factors) : make_lean_planner(arena, model);
    if (arena.failed()) return Status::out_of_memory;
    first_allowed(model, plan.policy);
    const double least = rounding_of_values(model.discount, model.reward, model.num_pairs);
    if (few) plan.broken_pair = broken_pair(planner, p);
    if (!few && plan_by_sweeps(planner, arena, p, larger(tolerance, least), plan)) {
        plan.error = larger(plan.error, least);
    } else {
        if (plan.broken_pair >= 0) return Status::bad_argument;
        const Matrix lu = arena.matrix(model.num_states, model.num_states);
        if (arena.failed()) return Status::out_of_memory;
        plan_by_factors(planner, lu, p, plan);
    }
    action_values(planner, p, plan.V);
    copy(planner.Q.data, planner.Q.size, plan.Q);
    return plan.error <= tolerance ? Status::ok : Status::out_of_iterations;
}

}  // namespace vb
