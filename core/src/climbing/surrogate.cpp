#include "climbing/surrogate.hpp"

#include "climbing/climb.hpp"

namespace vb {

namespace {

constexpr Index kFewCoordinates = 6;  // for so many the value's curvature is found, too (newton_step.cpp)
constexpr double kExact = 1e-4;       // of a climb's target: what the surrogate leaves must not count

// The observed transitions and their counts.
void look(const Problem& problem, Surrogate& own) {
    const Objective& objective = problem.objective;
    const Features& features = problem.model.features;
    const Index d = features.dimension;
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        copy(features.dense + i * d, d, own.rows[k]);
        own.counts[k] = objective.counts[i];
    }
    own.model.num_transitions = own.model.features.count = objective.num_observed;
}

Objective linearised(const Problem& problem, const Workspace& work, Surrogate& own) {
    const Index d = problem.set.dimension;
    copy(work.value_gradient.data, d, own.linear.data);
    if (problem.objective.linear != nullptr) add_scaled(1.0, problem.objective.linear, d, own.linear.data);
    Objective objective = problem.objective;
    objective.counts = own.counts.data;
    objective.observed = own.observed.data;
    objective.linear = own.linear.data;
    objective.bias = 0.0;
    return objective;
}

// The surrogate's point where the climb stands, with its facets.
Point stand(Surrogate& own, const Point& at, Index free) {
    Point point;
    point.y = own.y.data;
    point.theta = own.theta.data;
    point.p = own.p.data;
    point.active = own.active.data;
    point.num_active = own.num_active.data;
    copy(at.y, free, point.y);
    copy(at.active, at.num_active[0], point.active);
    point.num_active[0] = at.num_active[0];
    return point;
}

// Moves the step on to where the last two steps together would leave least, where that is in P and uphill.
void mix(const Problem& problem, const Point& at, Surrogate& own, Workspace& work) {
    const Index m = problem.set.num_free;
    double *mixed = work.rest.data, *step = work.step.data, product = 0.0, square = 0.0;
    for (Index j = 0; j < m; ++j) {
        const double difference = step[j] - own.last_step[j];
        product += difference * step[j];
        square += difference * difference;
    }
    if (!(square > 0.0)) return;
    const double share = product / square;
    for (Index j = 0; j < m; ++j) mixed[j] = own.y[j] - share * (own.y[j] - own.last_top[j]);
    if (!all_hold(own.work.near, problem.set.blocks[0], mixed, work.slack.data)) return;
    for (Index j = 0; j < m; ++j) mixed[j] -= at.y[j];
    if (dot(work.slope.data, mixed, m) > 0.0) copy(mixed, m, step);
}

// Remembers the step to the surrogate's maximum, and mixes it with the one before.
void choose_step(const Problem& problem, const Point& at, Surrogate& own, Workspace& work) {
    const Index m = problem.set.num_free;
    double* plain = own.work.step.data;
    for (Index j = 0; j < m; ++j) work.step[j] = plain[j] = own.y[j] - at.y[j];
    if (own.has_last) mix(problem, at, own, work);
    copy(own.y.data, m, own.last_top.data);
    copy(plain, m, own.last_step.data);
    own.has_last = true;
}

}  // namespace

bool can_linearise(const Model& model, const FeasibleSet& set) {
    return model.features.is_dense() && set.num_blocks == 1 && set.num_free > kFewCoordinates;
}

Surrogate make_surrogate(Arena& arena, const Model& model, const FeasibleSet& set) {
    Surrogate own;
    const Index most = model.num_transitions < kMostSeen ? model.num_transitions : kMostSeen;
    own.rows = arena.matrix(most, set.dimension);
    own.counts = arena.take<double>(most);
    own.observed = arena.take<Index>(most);
    own.linear = arena.take<double>(set.dimension);
    own.y = arena.take<double>(set.num_free);
    own.theta = arena.take<double>(set.dimension);
    own.p = arena.take<double>(most);
    own.active = arena.take<Index>(set.num_free);
    own.num_active = arena.take<Index>(1);
    own.model.num_transitions = most;
    own.model.features.dimension = set.dimension;
    own.model.features.dense = own.rows.data;
    own.last_top = arena.take<double>(set.num_free);
    own.last_step = arena.take<double>(set.num_free);
    own.work = make_workspace(arena, own.model, set, true);
    own.work.target = kExact * kTarget;
    if (arena.failed()) return own;
    for (Index k = 0; k < most; ++k) own.observed[k] = k;
    return own;
}

bool is_linearised(const Problem& problem, const Workspace& work) {
    return work.surrogate != nullptr && problem.objective.bias > 0.0 && problem.objective.num_observed <= kMostSeen;
}

void find_linearised_step(const Problem& problem, Point& at, Workspace& work) {
    Surrogate& own = *work.surrogate;
    const Index m = problem.set.num_free;
    look(problem, own);
    const Problem concave{own.model, problem.set, linearised(problem, work, own)};
    Point point = stand(own, at, m);
    climb(concave, point, own.work);
    if (point.p != own.p.data) {  // the line search exchanged them
        own.work.trial_p.data = own.p.data;
        own.p.data = point.p;
    }
    choose_step(problem, at, own, work);
    at.num_active[0] = point.num_active[0];
    copy(point.active, point.num_active[0], at.active);
    copy(own.work.multiplier.data, point.num_active[0], work.multiplier.data);
    at.factored = false;
}

}  // namespace vb
