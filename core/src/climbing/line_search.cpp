#include "climbing/line_search.hpp"

#include "climbing/objective.hpp"
#include "climbing/surrogate.hpp"

namespace vb {

namespace {

constexpr double kArmijo = 1e-4;
constexpr double kKeep = 0.1;  // a step leaves observed transitions at least this part of their probability
constexpr int kHalvings = 40;

// The longest step, at most 1, that keeps a tenth of each observed probability; `whole` is p after the whole step.
double step_limit(const Objective& objective, const double* p, const double* whole) {
    double limit = 1.0;
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        const double change = whole[i] - p[i];
        if (p[i] + limit * change < kKeep * p[i]) limit = (1.0 - kKeep) * p[i] / -change;
    }
    return limit;
}

void move(const Problem& problem, const Workspace& work, double length, Point& at) {
    for (Index j = 0; j < problem.set.num_free; ++j) work.trial_y[j] = at.y[j] + length * work.step[j];
    assemble(problem.set, work.trial_y.data, at.theta);
}

void exchange_p(Point& at, Workspace& work) {
    double* before = at.p;
    at.p = work.trial_p.data;
    work.trial_p.data = before;
}

}  // namespace

Progress line_search(const Problem& problem, double f, double rise, Point& at, Workspace& work) {
    const double noise = rounding_error(problem, work, f);
    move(problem, work, 1.0, at);
    probabilities(problem.model.features, at.theta, work.trial_p.data);
    double length = is_linearised(problem, work) ? 1.0 : step_limit(problem.objective, at.p, work.trial_p.data);
    exchange_p(at, work);
    for (int k = 0; k < kHalvings; ++k, length *= 0.5) {
        if (length != 1.0) {
            move(problem, work, length, at);
            probabilities(problem.model.features, at.theta, at.p);
        }
        const double reached = evaluate_at_p(problem, at, work);
        if (reached >= f + kArmijo * length * rise - noise) {
            copy(work.trial_y.data, problem.set.num_free, at.y);
            return {true, reached, length};
        }
    }
    assemble(problem.set, at.y, at.theta);
    return {false, evaluate(problem, at, work), 0.0};
}

}  // namespace vb
