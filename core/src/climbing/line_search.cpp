#include "climbing/line_search.hpp"

#include "climbing/surrogate.hpp"
#include "common/tuning.hpp"

#include <utility>

namespace vb {

namespace {

// The longest step, at most 1, that keeps a part of each observed probability; `whole` is p after the whole step.
double step_limit(const Objective& objective, const double* p, const double* whole) {
    constexpr double kept = tuning.line_search_keeps;
    double limit = 1.0;
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        const double change = whole[i] - p[i];
        if (p[i] + limit * change < kept * p[i]) limit = (1.0 - kept) * p[i] / -change;
    }
    return limit;
}

// theta at that part of the step; its y is in `line`.
void move(const Ascent& run, double length, LineScratch& line) {
    for (Index j = 0; j < run.problem.set.num_free; ++j) line.y[j] = run.at.y[j] + length * run.tools.step.move[j];
    assemble(run.problem.set, line.y.data, run.at.theta);
}

}  // namespace

Progress line_search(Ascent& run) {
    const Problem& problem = run.problem;
    Point& at = run.at;
    LineScratch& line = run.tools.line;
    const double noise = noise_of(run);
    move(run, 1.0, line);
    probabilities(problem.model.features, at.theta, line.p.data);
    double length = is_linearised(run) ? 1.0 : step_limit(problem.objective, at.p, line.p.data);
    std::swap(at.p, line.p.data);
    for (Index k = 0; k < tuning.line_search_halvings; ++k, length *= 0.5) {
        if (length != 1.0) {
            move(run, length, line);
            probabilities(problem.model.features, at.theta, at.p);
        }
        const double reached = evaluate_at_p(problem, at, run.tools.planner, run.precision);
        if (reached >= run.f + tuning.armijo * length * run.rise - noise) {
            copy(line.y.data, problem.set.num_free, at.y);
            return {true, reached, length};
        }
    }
    assemble(problem.set, at.y, at.theta);
    return {false, evaluate(problem, at, run.tools.planner, run.precision), 0.0};
}

}  // namespace vb
