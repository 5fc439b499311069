// Planning, as C sees it.
#include "api/handle.hpp"
#include "climbing/objective.hpp"
#include "model/build_model.hpp"
#include "planning/bellman.hpp"
#include "planning/policy_iteration.hpp"
#include "planning/sweeps.hpp"

using namespace vb;

struct vb_planner {
    const KnownModel& known;
    Arena arena;
    Planner planner;
    Vector p;

    vb_planner(const KnownModel& known_, bool factors)
        : known(known_), planner(make_planner(arena, known_.model, factors)),
          p(arena.take<double>(known_.model.num_transitions)) {}
};

namespace {

bool allowed_policy(const Model& model, const int64_t* policy) {
    for (Index s = 0; s < model.num_states; ++s) {
        if (policy[s] < 0 || policy[s] >= model.num_actions) return false;
    }
    return true;
}

}  // namespace

extern "C" {

vb_status vb_planner_new(const vb_model* model, int32_t factors, vb_planner** planner) {
    if (model == nullptr || planner == nullptr) return VB_BAD_ARGUMENT;
    vb_planner* made = make_handle<vb_planner>(model->known, factors != 0);
    if (made == nullptr || made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *planner = made;
    return VB_OK;
}

void vb_planner_free(vb_planner* planner) { free_handle(planner); }

vb_status vb_planner_optimal(vb_planner* planner, const double* p, int64_t* policy, double* V, double* error) {
    if (!allowed_policy(planner->known.model, policy)) return VB_BAD_ARGUMENT;
    *error = optimal_value(planner->planner, p, policy, V);
    return VB_OK;
}

vb_status vb_planner_optimal_at(vb_planner* planner, const double* theta, int64_t* policy, double* V, double* error) {
    probabilities(planner->known.model.features, theta, planner->p.data);
    return vb_planner_optimal(planner, planner->p.data, policy, V, error);
}

vb_status vb_planner_iterate(vb_planner* planner, const double* p, double tolerance, int64_t most, int64_t* policy,
                             double* V, double* error) {
    if (!allowed_policy(planner->known.model, policy)) return VB_BAD_ARGUMENT;
    if (planner->planner.factors()) {
        *error = policy_iteration(planner->planner, p, policy, V) / (1.0 - planner->known.model.discount);
    } else {
        *error = modified_policy_iteration(planner->planner, p, {tolerance, 20, most}, policy, V);
    }
    return VB_OK;
}

vb_status vb_planner_evaluate(vb_planner* planner, const double* p, const int64_t* policy, double* V) {
    if (!allowed_policy(planner->known.model, policy)) return VB_BAD_ARGUMENT;
    held_value(planner->planner, p, policy, V);
    return VB_OK;
}

vb_status vb_planner_sweep(vb_planner* planner, const double* p, const double* V, double* out, int64_t* policy,
                           double* range) {
    if (!allowed_policy(planner->known.model, policy)) return VB_BAD_ARGUMENT;
    const Range found = bellman_sweep(planner->planner, p, V, out, policy);
    range[0] = found.low;
    range[1] = found.high;
    return VB_OK;
}

vb_status vb_planner_gradient(vb_planner* planner, const double* theta, int64_t state, int64_t* policy, double* V, double* g) {
    double error = 0.0;
    const vb_status status = vb_planner_optimal_at(planner, theta, policy, V, &error);
    if (status != VB_OK) return status;
    fill(g, planner->known.set.dimension, 0.0);
    add_value_gradient(planner->planner, planner->p.data, policy, V, {state, 1.0, planner->planner.next.data, g});
    return VB_OK;
}

}  // extern "C"
