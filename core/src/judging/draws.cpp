#include "judging/draws.hpp"

#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

Draws make_draws(Arena& arena, const Model& model, Index count) {
    Draws draws;
    const Index states = model.num_states, d = model.features.dimension;
    draws.model = &model;
    draws.count = count;
    draws.side_by_side = method_for_known_plan(model) == Method::sweeps;
    draws.theta = arena.matrix(count, d);
    draws.best = arena.matrix(count, states);
    draws.policy = {arena.take<Index>(count * states).data, count, states};
    draws.information = arena.take<double>(model.num_pairs);
    draws.informed = arena.take<std::uint8_t>(model.num_pairs);
    draws.mean = arena.take<double>(d);
    draws.turned = arena.take<double>(d * count);
    draws.together = arena.take<double>(count);
    draws.planner = make_planner(arena, model, draws.side_by_side ? method_for_many_plans(model) : Method::factors);
    draws.p = arena.take_unfilled<double>(model.num_transitions);
    draws.lu = make_factors(arena, draws.planner);
    draws.held = arena.take<Index>(states);
    draws.V = arena.take<double>(states);
    draws.visits = arena.take<double>(states);
    if (!draws.planner.factors()) draws.lost = {arena.take_unfilled<double>(kTold * states).data, kTold, states};
    if (draws.side_by_side) draws.four = make_quartet(arena, model);
    if (arena.failed()) return draws;
    for (Index m = 0; m < count; ++m) first_allowed(model, draws.policy[m]);
    return draws;
}

double values_precision(const Draws& draws) {
    const double discount = draws.model->discount, finest = sweep_precision(discount);
    return draws.side_by_side ? larger(finest, tuning.judged_values / (1.0 - discount)) : finest;
}

}  // namespace vb
