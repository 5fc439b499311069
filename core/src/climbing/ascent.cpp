#include "climbing/ascent.hpp"

namespace vb {

Climber make_climber(Arena& arena, const Model& model, const FeasibleSet& set, Method method) {
    Climber tools;
    tools.approach = approach_for(model, set, method);
    tools.planner = make_planner(arena, model, method);
    tools.slope = make_slope(arena, model, set);
    tools.program = make_program_scratch(arena, model, set);
    tools.direction = make_direction_scratch(arena, model, set);
    if (model.features.is_dense()) {
        tools.dense = make_dense_scratch(arena, model, set);
    } else {
        tools.product = make_product_scratch(arena, set);
    }
    StartScratch& start = tools.start;
    PolishScratch& polish = tools.polish;
    Vector* free_sized[] = {&tools.step.move, &tools.step.multiplier, &tools.rest,        &start.given,   &start.best,
                            &tools.line.y,    &polish.y,              &polish.along,      &polish.before, &polish.mixed,
                            &polish.multiplier};
    for (Vector* vector : free_sized) *vector = arena.take<double>(set.num_free);
    tools.line.p = arena.take<double>(model.num_transitions);
    return tools;
}

void find_slope_here(const Ascent& run) {
    find_slope(run.problem, run.at, run.tools.planner, run.precision, run.tools.slope);
}

Verdict judge_here(const Ascent& run) {
    return judge(run.problem, run.at, run.tools.slope, run.tools.step.multiplier.data, run.tools.rest.data);
}

double noise_of(const Ascent& run) { return rounding_error(run.problem, run.f, run.error + run.precision); }

}  // namespace vb
