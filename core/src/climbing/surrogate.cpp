#include "climbing/surrogate.hpp"

#include "climbing/climb.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

// The observed transitions and their counts.
void look_at_observed(const Problem& problem, Surrogate& own) {
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

// The objective with the value replaced by its slope.
Objective linearised(const Objective& given, const Slope& slope, Surrogate& own) {
    const Index d = slope.of_value.size;
    copy(slope.of_value.data, d, own.linear.data);
    if (given.linear != nullptr) add_scaled(1.0, given.linear, d, own.linear.data);
    Objective objective = given;
    objective.counts = own.counts.data;
    objective.observed = own.observed.data;
    objective.linear = own.linear.data;
    objective.bias = 0.0;
    return objective;
}

// The surrogate's point where the climb stands, with its facets.
Point point_there(Surrogate& own, const Point& at, Index free) {
    Point point;
    point.y = own.y.data;
    point.theta = own.theta.data;
    point.p = own.p.data;
    point.active = own.active.data;
    point.num_active = own.num_active.data;
    point.frame = own.tools.program.frame;
    copy(at.y, free, point.y);
    copy(at.active, at.num_active[0], point.active);
    point.num_active[0] = at.num_active[0];
    return point;
}

// Moves the step on to where the last two steps together would leave least, where that is in P and uphill.
void mix_with_last(Surrogate& own, Ascent& run) {
    const Index m = run.problem.set.num_free;
    double *mixed = own.mixed.data, *move = run.tools.step.move.data, product = 0.0, square = 0.0;
    for (Index j = 0; j < m; ++j) {
        const double difference = move[j] - own.last_step[j];
        product += difference * move[j];
        square += difference * difference;
    }
    if (!(square > 0.0)) return;
    const double share = product / square;
    for (Index j = 0; j < m; ++j) mixed[j] = own.y[j] - share * (own.y[j] - own.last_top[j]);
    ProgramScratch& program = own.tools.program;
    if (!all_hold(program.near, run.problem.set.blocks[0], mixed, program.slack.data)) return;
    for (Index j = 0; j < m; ++j) mixed[j] -= run.at.y[j];
    if (dot(run.tools.slope.in_y.data, mixed, m) > 0.0) copy(mixed, m, move);
}

// Takes the step to the surrogate's maximum, mixed with the one before, and remembers it as it was.
void choose_step(Surrogate& own, Ascent& run) {
    const Index m = run.problem.set.num_free;
    double *plain = own.tools.step.move.data, *move = run.tools.step.move.data;
    for (Index j = 0; j < m; ++j) move[j] = plain[j] = own.y[j] - run.at.y[j];
    if (own.has_last) mix_with_last(own, run);
    copy(own.y.data, m, own.last_top.data);
    copy(plain, m, own.last_step.data);
    own.has_last = true;
}

}  // namespace

bool can_linearise(const Model& model, const FeasibleSet& set) {
    return model.features.is_dense() && set.num_blocks == 1 && set.num_free > tuning.bent_coordinates;
}

Surrogate make_surrogate(Arena& arena, const Model& model, const FeasibleSet& set) {
    Surrogate own;
    const Index most = smaller(model.num_transitions, tuning.surrogate_observed);
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
    own.mixed = arena.take<double>(set.num_free);
    own.last_top = arena.take<double>(set.num_free);
    own.last_step = arena.take<double>(set.num_free);
    own.tools = make_climber(arena, own.model, set, Method::sweeps);
    own.tools.approach.target = tuning.climb_surrogate_target * tuning.climb_target;
    if (arena.failed()) return own;
    for (Index k = 0; k < most; ++k) own.observed[k] = k;
    return own;
}

bool is_linearised(const Ascent& run) {
    const Objective& objective = run.problem.objective;
    const bool fits = objective.num_observed <= tuning.surrogate_observed;
    return run.tools.surrogate != nullptr && objective.bias > 0.0 && fits;
}

void find_linearised_step(Ascent& run) {
    Surrogate& own = *run.tools.surrogate;
    Point& at = run.at;
    look_at_observed(run.problem, own);
    const Problem concave{own.model, run.problem.set, linearised(run.problem.objective, run.tools.slope, own)};
    Point point = point_there(own, at, run.problem.set.num_free);
    climb(concave, point, own.tools);
    choose_step(own, run);
    at.num_active[0] = point.num_active[0];
    copy(point.active, point.num_active[0], at.active);
    copy(own.tools.step.multiplier.data, point.num_active[0], run.tools.step.multiplier.data);
    at.factored = false;
}

}  // namespace vb
