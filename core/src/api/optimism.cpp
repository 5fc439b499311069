// Optimistic plans, as C sees them.
#include "api/optimism.hpp"

#include "api/handle.hpp"

using namespace vb;

namespace {

bool all_within(const Index* values, Index count, Index limit) {
    for (Index i = 0; i < count; ++i) {
        if (values[i] < 0 || values[i] >= limit) return false;
    }
    return true;
}

// Views can be written to, so that what was written is looked at before it is used.
bool warm_start_fits(const BestModels& models, const WarmStart& warm) {
    const FeasibleSet& set = *models.set;
    for (Index pair = 0; pair < models.model->num_pairs; ++pair) {
        const Block& block = set.blocks[set.block_of_pair[pair]];
        const Index count = warm.num_active[pair];
        if (count < 0 || count > block.num_free) return false;
        if (!all_within(warm.active.data + pair * set.most_free, count, block.facets.count)) return false;
    }
    return true;
}

bool state_fits(const Optimist& optimist) {
    const Model& model = *optimist.models.model;
    if (!all_within(optimist.policy.data, model.num_states, model.num_actions)) return false;
    if (!all_within(optimist.models.tight.data, model.num_pairs, optimist.layers.size)) return false;
    for (const ConfidenceLayer* layer : optimist.layers) {
        if (!warm_start_fits(optimist.models, layer->warm)) return false;
    }
    return true;
}

bool sets_fit(const vb_ellipsoid* sets, Index count) {
    if (sets == nullptr || count < 1) return false;
    for (Index k = 0; k < count; ++k) {
        if (sets[k].sigma == nullptr || sets[k].estimate == nullptr) return false;
        if (!(sets[k].radius >= 0.0 && sets[k].radius < kInfinity)) return false;
    }
    return true;
}

void run(vb_optimist& handle, const vb_ellipsoid* sets, Index count, double tolerance, Index sweeps) {
    Optimist& optimist = handle.optimist;
    for (Index k = 0; k < count; ++k) handle.given[k] = {sets[k].sigma, sets[k].estimate, sets[k].radius};
    place_ellipsoids({handle.given.data, count}, optimist);
    if (optimist.plan.status != Status::ok) return;
    if (optimist.plan.empty) {
        plan_for_nearest(optimist, tolerance);
    } else if (sweeps > 0) {
        plan_by_sweeps(optimist, sweeps);
    } else {
        plan_to_tolerance(optimist, tolerance);
    }
}

vb_optimistic_plan report(const OptimisticPlan& plan) {
    return {plan.error_bound,  plan.gap,         plan.missed, plan.rounds,
            code(plan.status), code(plan.inner), plan.empty ? 1 : 0};
}

bool grow_handle(vb_optimist& handle, Index ellipsoids) {
    if (ellipsoids <= handle.given.size) return true;
    View<ConfidenceEllipsoid> given = handle.arena.take<ConfidenceEllipsoid>(ellipsoids);
    if (handle.arena.failed() || !grow(handle.arena, ellipsoids, handle.optimist)) return false;
    handle.given = given;
    return true;
}

}  // namespace

extern "C" {

vb_status vb_optimist_new(const vb_model* model, int32_t factors, vb_optimist** optimist) {
    if (optimist == nullptr) return VB_BAD_ARGUMENT;
    *optimist = nullptr;
    if (model == nullptr) return VB_BAD_ARGUMENT;
    vb_optimist* made = make_handle<vb_optimist>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    made->optimist = make_optimist(made->arena, model->known.model, model->known.set, factors_if(factors != 0));
    if (made->arena.failed() || !grow_handle(*made, 1)) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    made->plan = report(made->optimist.plan);
    *optimist = made;
    return VB_OK;
}

void vb_optimist_free(vb_optimist* optimist) { free_handle(optimist); }

vb_status vb_optimist_look(vb_optimist* handle, vb_optimist_view* view) {
    if (handle == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    const Optimist& optimist = handle->optimist;
    const BestModels& models = optimist.models;
    const FeasibleSet& set = *models.set;
    *view = {set.num_squares,     set.most_free,   optimist.V.data,   optimist.policy.data,
             optimist.theta.data, optimist.p.data, models.tight.data, models.chosen.data,
             &handle->plan};
    return VB_OK;
}

vb_status vb_optimist_grow(vb_optimist* optimist, int64_t ellipsoids) {
    if (optimist == nullptr || ellipsoids < 1) return VB_BAD_ARGUMENT;
    return grow_handle(*optimist, ellipsoids) ? VB_OK : VB_OUT_OF_MEMORY;
}

vb_status vb_optimist_warm_start(vb_optimist* optimist, int64_t ellipsoid, vb_warm_start_view* view) {
    if (optimist == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    const View<ConfidenceLayer*> layers = optimist->optimist.layers;
    if (ellipsoid < 0 || ellipsoid >= layers.size) return VB_BAD_ARGUMENT;
    const WarmStart& warm = layers[ellipsoid]->warm;
    *view = {warm.s.data, warm.num_active.data, warm.active.data, warm.y.data};
    return VB_OK;
}

vb_status vb_optimist_plan(vb_optimist* optimist, const vb_ellipsoid* sets, int64_t count, double tolerance,
                           int64_t sweeps) {
    if (optimist == nullptr || !sets_fit(sets, count)) return VB_BAD_ARGUMENT;
    if (!(tolerance > 0.0 && tolerance < kInfinity) || sweeps < 0) return VB_BAD_ARGUMENT;
    if (!grow_handle(*optimist, count)) return VB_OUT_OF_MEMORY;
    if (!state_fits(optimist->optimist)) return VB_BAD_ARGUMENT;
    run(*optimist, sets, count, tolerance, sweeps);
    optimist->plan = report(optimist->optimist.plan);
    return optimist->plan.status;
}

vb_status vb_optimist_thetas(const vb_optimist* handle, double* out) {
    if (handle == nullptr || out == nullptr) return VB_BAD_ARGUMENT;
    const Optimist& optimist = handle->optimist;
    if (handle->plan.empty == 0) {
        chosen_thetas(optimist, out);
        return VB_OK;
    }
    const Index d = optimist.theta.size;
    for (Index pair = 0; pair < optimist.models.model->num_pairs; ++pair) copy(optimist.theta.data, d, out + pair * d);
    return VB_OK;
}

vb_status vb_l1_optimist_new(const vb_model* model, vb_l1_optimist** optimist) {
    if (optimist == nullptr) return VB_BAD_ARGUMENT;
    *optimist = nullptr;
    if (model == nullptr) return VB_BAD_ARGUMENT;
    vb_l1_optimist* made = make_handle<vb_l1_optimist>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    made->optimist = make_l1_optimist(made->arena, model->known.model);
    if (made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *optimist = made;
    return VB_OK;
}

void vb_l1_optimist_free(vb_l1_optimist* optimist) { free_handle(optimist); }

vb_status vb_l1_optimist_look(vb_l1_optimist* handle, vb_l1_optimist_view* view) {
    if (handle == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    L1Optimist& optimist = handle->optimist;
    *view = {optimist.V.data, optimist.policy.data, &optimist.error_bound};
    return VB_OK;
}

vb_status vb_l1_optimist_plan(vb_l1_optimist* optimist, const double* estimate, const double* radius,
                              double tolerance, int64_t most_sweeps) {
    if (optimist == nullptr || estimate == nullptr || radius == nullptr) return VB_BAD_ARGUMENT;
    if (!(tolerance > 0.0) || most_sweeps < 1) return VB_BAD_ARGUMENT;
    plan_in_l1_balls(optimist->optimist, estimate, radius, {tolerance, most_sweeps});
    return code(optimist->optimist.status);
}

}  // extern "C"
