#include "optimism/extended_value_iteration.hpp"

#include "common/tuning.hpp"
#include "planning/bellman.hpp"
#include "planning/policy_iteration.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

// Chooses models for V and notes how that ended.
void choose(Optimist& optimist) {
    const ChoiceEnd end = choose_models(optimist.models, optimist.V.data, optimist.p.data);
    optimist.plan.gap = end.gap;
    optimist.plan.inner = end.status;
    ++optimist.plan.rounds;
}

// The models at hand are held and solved for: exactly by factors, or roughly by sweeps.
void hold_models(Optimist& optimist) {
    double *V = optimist.V.data, *next = optimist.next.data, *p = optimist.p.data;
    if (optimist.planner.factors()) {
        policy_iteration(optimist.planner, optimist.valuation());
        return;
    }
    for (int k = 0; k < tuning.extended_inner; ++k) {
        bellman_sweep(optimist.planner, p, V, next, optimist.policy.data);
        copy(next, optimist.V.size, V);
    }
}

}  // namespace

Optimist make_optimist(Arena& arena, const Model& model, const FeasibleSet& set, Method method) {
    Optimist optimist;
    optimist.models = make_best_models(arena, model, set);
    optimist.place = make_place_work(arena, set);
    optimist.planner = make_planner(arena, model, method);
    optimist.lu = make_factors(arena, optimist.planner);
    optimist.p = arena.take<double>(model.num_transitions);
    optimist.V = arena.take<double>(model.num_states);
    optimist.next = arena.take<double>(model.num_states);
    optimist.policy = arena.take<Index>(model.num_states);
    optimist.theta = arena.take<double>(set.dimension);
    if (arena.failed()) return optimist;
    first_allowed(model, optimist.policy.data);
    fill(optimist.V.data, optimist.V.size, 1.0 / (1.0 - model.discount));
    copy(set.center, set.dimension, optimist.theta.data);
    return optimist;
}

bool grow(Arena& arena, Index ellipsoids, Optimist& optimist) {
    const Index before = optimist.layers.size;
    if (ellipsoids <= before) return true;
    View<ConfidenceLayer*> layers = arena.take<ConfidenceLayer*>(ellipsoids);
    View<ConfidenceLayer> added = arena.take<ConfidenceLayer>(ellipsoids - before);
    BestModels models = optimist.models;
    make_room_for(arena, ellipsoids, models);
    if (arena.failed()) return false;
    copy(optimist.layers.data, before, layers.data);
    for (Index l = before; l < ellipsoids; ++l) {
        ConfidenceLayer& layer = added[l - before];
        layer.placed = make_placed_ellipsoid(arena, *optimist.models.set);
        layer.warm = make_warm_start(arena, optimist.models.model->num_pairs, optimist.models.set->most_free);
        layers[l] = &layer;
    }
    if (arena.failed()) return false;
    optimist.layers = layers;
    optimist.models = models;
    return true;
}

void place_ellipsoids(View<const ConfidenceEllipsoid> given, Optimist& optimist) {
    const FeasibleSet& set = *optimist.models.set;
    optimist.plan = {};
    optimist.plan.missed = -kInfinity;
    optimist.plan.status = Status::ok;
    optimist.models.layers = {optimist.layers.data, given.size};
    for (Index l = 0; l < given.size; ++l) {
        PlacedEllipsoid& placed = optimist.layers[l]->placed;
        const Placement placement = place_ellipsoid(set, given[l], placed, optimist.place, optimist.models.support);
        if (placement.status != Status::ok) {
            optimist.plan.status = placement.status;
            return;
        }
        if (placement.missed > optimist.plan.missed) {
            optimist.plan.missed = placement.missed;
            assemble(set, placed.near.data, optimist.theta.data);
        }
    }
    optimist.plan.empty = optimist.plan.missed > 0.0;
}

// Each round chooses models for V and sweeps once, which bounds the error (MacQueen); then the models are held.
void plan_to_tolerance(Optimist& optimist, double tolerance) {
    const double discount = optimist.models.model->discount, factor = discount / (1.0 - discount);
    const double enough = optimist.planner.factors() ? 0.5 : 0.999;  // of the least spread: what counts as progress
    double *V = optimist.V.data, *next = optimist.next.data, least = kInfinity;
    int idle = 0;
    while (true) {
        choose(optimist);
        const Range change = bellman_sweep(optimist.planner, optimist.p.data, V, next, optimist.policy.data);
        const double spread = 0.5 * factor * (change.high - change.low);
        const double middle = 0.5 * factor * (change.high + change.low);
        optimist.plan.error_bound = spread + optimist.plan.gap / (1.0 - discount);
        for (Index s = 0; s < optimist.V.size; ++s) V[s] = next[s] + middle;
        idle = spread < enough * least ? 0 : idle + 1;
        if (idle == 0) least = spread;
        if (spread <= 0.5 * tolerance) {
            optimist.plan.status = Status::converged;
            return;
        }
        if (idle >= tuning.extended_idle || optimist.plan.rounds >= tuning.extended_rounds) {
            optimist.plan.status = idle >= tuning.extended_idle ? Status::stalled : Status::out_of_iterations;
            return;
        }
        hold_models(optimist);
    }
}

void plan_by_sweeps(Optimist& optimist, Index sweeps) {
    const double discount = optimist.models.model->discount, top = 1.0 / (1.0 - discount);
    double *V = optimist.V.data, *next = optimist.next.data, worst = 0.0;
    Range change{0.0, 0.0};
    fill(V, optimist.V.size, top);
    for (Index k = 0; k < sweeps; ++k) {
        choose(optimist);
        worst = larger(worst, optimist.plan.gap);
        change = bellman_sweep(optimist.planner, optimist.p.data, V, next, optimist.policy.data);
        for (Index s = 0; s < optimist.V.size; ++s) V[s] = smaller(next[s], top);
    }
    optimist.plan.gap = worst;
    optimist.plan.error_bound = (discount * larger(-change.low, change.high) + worst) / (1.0 - discount);
    optimist.plan.status = Status::converged;
}

void plan_for_nearest(Optimist& optimist, double tolerance) {
    const Model& model = *optimist.models.model;
    double* p = optimist.p.data;
    probabilities(model.features, optimist.theta.data, p);
    if (optimist.planner.factors()) {
        const double residual = policy_iteration(optimist.planner, optimist.valuation());
        optimist.plan.error_bound = residual / (1.0 - model.discount);
    } else {
        const SweepLimits limits{tolerance, tuning.extended_inner, tuning.sweep_long_way};
        optimist.plan.error_bound =
            modified_policy_iteration(optimist.planner, p, limits, optimist.policy.data, optimist.V.data);
    }
    optimist.plan.gap = 0.0;
    optimist.plan.status = Status::converged;
}

void chosen_thetas(const Optimist& optimist, double* out) {
    const BestModels& models = optimist.models;
    const FeasibleSet& set = *models.set;
    for (Index pair = 0; pair < models.model->num_pairs; ++pair) {
        const Block& block = set.blocks[set.block_of_pair[pair]];
        double* theta = out + pair * set.dimension;
        copy(optimist.theta.data, set.dimension, theta);
        for (Index k = 0; k < block.num_coordinates; ++k) {
            const Index at = block.coordinates[k];
            const double* row = block.basis + k * block.num_free;
            theta[at] = set.center[at] + dot(row, models.chosen_for(pair), block.num_free);
        }
    }
}

}  // namespace vb
