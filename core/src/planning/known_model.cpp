#include "planning/known_model.hpp"

#include "planning/bellman.hpp"
#include "planning/policy_iteration.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

constexpr Index kFewStates = 32;       // up to this many, factors cost no more than a few sweeps
constexpr Index kFactorStates = 1000;  // up to this many, factors are the way out where sweeps take long
constexpr Index kShortWay = 200;       // sweeps after which another way is taken
constexpr Index kLongWay = 10000000;

// What one Bellman sweep from V = 0 gives, without reading p.
void begin_with_rewards(const Model& model, double* V) {
    for (Index s = 0; s < model.num_states; ++s) {
        V[s] = -kInfinity;
        for (Index a = 0; a < model.num_actions; ++a) V[s] = larger(V[s], model.reward[model.pair(s, a)]);
    }
}

// By sweeps; false where they take too long and factors are at hand.
bool plan_by_sweeps(Planner& planner, Arena& arena, const double* p, double goal, KnownPlan& plan) {
    const bool has_factors = planner.model->num_states <= kFactorStates;
    begin_with_rewards(*planner.model, plan.V);
    plan.error = modified_policy_iteration(planner, p, {goal, 20, kShortWay}, plan.policy, plan.V);
    if (plan.error <= goal || has_factors) return plan.error <= goal;
    planner.spare = arena.matrix(kSpare, planner.model->num_states);
    plan.error = modified_policy_iteration(planner, p, {goal, 20, kLongWay}, plan.policy, plan.V);
    return true;
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
    const bool few = model.num_states <= kFewStates;
    Planner planner = few ? make_planner(arena, model, true) : make_lean_planner(arena, model);
    if (arena.failed()) return Status::out_of_memory;
    plan.broken_pair = broken_pair(planner, p);
    if (plan.broken_pair >= 0) return Status::bad_argument;
    first_allowed(model, plan.policy);
    const double least = rounding_of_values(model.discount, model.reward, model.num_pairs);
    if (!few && plan_by_sweeps(planner, arena, p, larger(tolerance, least), plan)) {
        plan.error = larger(plan.error, least);
    } else {
        if (!few) planner.lu = arena.matrix(model.num_states, model.num_states);
        if (arena.failed()) return Status::out_of_memory;
        plan.error = policy_iteration(planner, p, plan.policy, plan.V) / (1.0 - model.discount);
    }
    action_values(planner, p, plan.V);
    copy(planner.Q.data, planner.Q.size, plan.Q);
    return plan.error <= tolerance ? Status::ok : Status::out_of_iterations;
}

}  // namespace vb
