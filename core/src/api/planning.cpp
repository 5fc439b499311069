// Planning, as C sees it.
#include "api/planning.hpp"

#include "api/handle.hpp"
#include "climbing/objective.hpp"
#include "model/build_model.hpp"
#include "planning/bellman.hpp"
#include "planning/known_model.hpp"
#include "planning/sweeps.hpp"

using namespace vb;

namespace {

void lay_out(vb_planner& made, const Model& model) {
    Arena& arena = made.arena;
    made.at.theta = arena.take<double>(model.features.dimension).data;
    made.at.p = arena.take<double>(model.num_transitions).data;
    made.at.policy = arena.take<Index>(model.num_states).data;
    made.at.V = arena.take<double>(model.num_states).data;
    made.at.next = arena.take<double>(model.num_states).data;
    made.at.Q = made.planner.Q.data;
    made.at.visits = arena.take<double>(model.num_states).data;
    made.at.gradient = arena.take<double>(model.features.dimension).data;
    made.at.error = arena.take<double>(1).data;
    made.at.change = arena.take<double>(2).data;
}

// Puts the first allowed action where the policy has one that is not; false where it is out of range.
bool make_allowed(vb_planner& planner) {
    const Model& model = planner.model();
    for (Index s = 0; s < model.num_states; ++s) {
        Index& action = planner.at.policy[s];
        if (action < 0 || action >= model.num_actions) return false;
        if (planner.allowed(s)) continue;
        for (action = 0; !planner.allowed(s);) ++action;
    }
    return true;
}

bool may_sweep(const vb_planner* planner, double tolerance, Index most) {
    return !planner->planner.factors() && tolerance > 0.0 && most >= 1;
}

vb_status judged(const vb_planner* planner, double tolerance) {
    return *planner->at.error <= tolerance ? VB_OK : VB_OUT_OF_ITERATIONS;
}

}  // namespace

extern "C" {

vb_status vb_planner_new(const vb_model* model, int32_t factors, vb_planner** planner) {
    if (planner == nullptr) return VB_BAD_ARGUMENT;
    *planner = nullptr;
    if (model == nullptr || !rewards_fit(model->known.model)) return VB_BAD_ARGUMENT;
    vb_planner* made = make_handle<vb_planner>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    made->planner = make_planner(made->arena, model->known.model, factors_if(factors != 0));
    made->lu = make_factors(made->arena, made->planner);
    lay_out(*made, model->known.model);
    if (made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    first_allowed(model->known.model, made->at.policy);
    *planner = made;
    return VB_OK;
}

void vb_planner_free(vb_planner* planner) { free_handle(planner); }

vb_status vb_planner_look(vb_planner* planner, vb_planner_view* arrays) {
    *arrays = planner->at;
    return VB_OK;
}

vb_status vb_planner_assemble(vb_planner* planner) {
    probabilities(planner->model().features, planner->at.theta, planner->at.p);
    return VB_OK;
}

vb_status vb_planner_optimal(vb_planner* planner) {
    if (!make_allowed(*planner)) return VB_BAD_ARGUMENT;
    *planner->at.error = optimal_value(planner->planner, planner->valuation(), planner->precision());
    return VB_OK;
}

vb_status vb_planner_iterate(vb_planner* planner, double tolerance, int64_t most_sweeps) {
    if (!may_sweep(planner, tolerance, most_sweeps) || !make_allowed(*planner)) return VB_BAD_ARGUMENT;
    const SweepLimits limits{tolerance, 20, most_sweeps};
    *planner->at.error =
        modified_policy_iteration(planner->planner, planner->at.p, limits, planner->at.policy, planner->at.V);
    return judged(planner, tolerance);
}

vb_status vb_planner_evaluate(vb_planner* planner) {
    if (!planner->fits()) return VB_BAD_ARGUMENT;
    *planner->at.error = held_value(planner->planner, planner->valuation(), planner->precision());
    return VB_OK;
}

vb_status vb_planner_evaluate_to(vb_planner* planner, double tolerance, int64_t most_sweeps) {
    if (!may_sweep(planner, tolerance, most_sweeps) || !planner->fits()) return VB_BAD_ARGUMENT;
    const SweepLimits limits{tolerance, 20, most_sweeps};
    *planner->at.error = evaluate_by_sweeps(planner->planner, planner->at.p, limits, planner->at.policy, planner->at.V);
    return judged(planner, tolerance);
}

vb_status vb_planner_sweep(vb_planner* planner) {
    if (!make_allowed(*planner)) return VB_BAD_ARGUMENT;
    const vb_planner_view& at = planner->at;
    const Range change = bellman_sweep(planner->planner, at.p, at.V, at.next, at.policy);
    at.change[0] = change.low;
    at.change[1] = change.high;
    return VB_OK;
}

vb_status vb_planner_settle(vb_planner* planner) {
    action_values(planner->planner, planner->at.p, planner->at.V);
    lowest_best(planner->model(), planner->at.Q, planner->at.policy);
    return VB_OK;
}

vb_status vb_planner_visits(vb_planner* planner, int64_t state) {
    if (!planner->is_state(state) || !planner->fits()) return VB_BAD_ARGUMENT;
    occupancy(planner->planner, planner->valuation(), {state, planner->precision()}, planner->at.visits);
    return VB_OK;
}

vb_status vb_planner_solve(vb_planner* planner, double* X, int64_t columns, double accuracy) {
    if (X == nullptr || columns < 1 || !(accuracy > 0.0) || !planner->fits()) return VB_BAD_ARGUMENT;
    const Matrix all{X, planner->model().num_states, columns};
    solve_columns(planner->planner, planner->valuation(), all, accuracy);
    return VB_OK;
}

vb_status vb_planner_floor(vb_planner* planner, int64_t state) {
    if (!planner->is_state(state) || !make_allowed(*planner)) return VB_BAD_ARGUMENT;
    const vb_planner_view& at = planner->at;
    const Model& model = planner->model();
    probabilities(model.features, at.theta, at.p);
    *at.error = optimal_value(planner->planner, planner->valuation(), planner->precision());
    fill(at.gradient, model.features.dimension, 0.0);
    occupancy(planner->planner, planner->valuation(), {state, planner->precision()}, at.visits);
    add_value_gradient(model, planner->valuation(), 1.0, at.visits, at.gradient);
    return VB_OK;
}

int64_t vb_planner_broken_pair(const vb_planner* planner) { return broken_pair(planner->planner, planner->at.p); }

double vb_sweep_precision(double discount) { return sweep_precision(discount); }

double vb_rounding_of_values(double discount, double largest_reward) {
    return rounding_of_values(discount, &largest_reward, 1);
}

}  // extern "C"
