#include "climbing/climb.hpp"

#include "climbing/kkt.hpp"
#include "climbing/line_search.hpp"
#include "climbing/newton_step.hpp"
#include "climbing/objective.hpp"
#include "climbing/polish.hpp"
#include "climbing/product_step.hpp"
#include "climbing/surrogate.hpp"

namespace vb {

namespace {

constexpr int kMostIterations = 300;
constexpr double kStalledResidual = 1e-8;  // a climb ends here, too, once f no longer rises beyond rounding
constexpr double kInside[] = {0.99, 0.9, 0.5};  // how much of a start may be kept, the rest the interior point
constexpr double kTooSteep = 10.0;
constexpr double kRoughly = 1e-6;   // of the largest possible value: the error of values where a climb begins
constexpr double kOfRise = 1e-3;    // what f may be off, of what the slope promises
constexpr double kOfResidual = 1e-3;  // what the slope may be off, of the residual

// Where a climb stands between two iterations.
struct State {
    double f = 0.0;
    double rise = 0.0;  // what the slope promises of a whole step
    int stalled = 0;    // steps in a row that raised f by no more than rounding
    int iteration = 0;
    bool known = false;  // on the way to a maximum at hand
};

Outcome outcome(const State& state, const Workspace& work, Status status) {
    return {state.f, work.residual, work.gap, status, state.iteration, false};
}

Outcome given_up(const State& state, const Workspace& work) {
    return {state.f, work.residual, work.gap, Status::stalled, state.iteration, true};
}

// Whether an observed transition is all but impossible at p. At a maximum n_i/p_i is of the order of all counts and the
// bias together; far above, steps would only double p_i each time.
bool too_steep(const Problem& problem, const double* p) {
    const Objective& objective = problem.objective;
    double total = 1.0 + objective.bias / (1.0 - problem.model.discount), steepest = 0.0;
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        total += objective.counts[i];
        steepest = larger(steepest, p[i] > 0.0 ? objective.counts[i] / p[i] : kInfinity);
    }
    return steepest > kTooSteep * total;
}

// The same where plans cost most: the mixture is the most likely one, for which no plan is needed.
double start_inside_swept(const Problem& problem, Point& at, Workspace& work) {
    if (at.evaluated && !too_steep(problem, at.p)) return evaluate_again(problem, at, work);
    const Index free = problem.set.num_free;
    assemble(problem.set, at.y, at.theta);
    seen_probabilities(problem, at);
    if (too_steep(problem, at.p)) {
        double most = concave_part(problem, at, work), kept = 1.0;
        copy(at.y, free, work.kept.data);
        for (double inside : kInside) {
            for (Index j = 0; j < free; ++j) at.y[j] = inside * work.kept[j];
            assemble(problem.set, at.y, at.theta);
            seen_probabilities(problem, at);
            const double likely = concave_part(problem, at, work);
            kept = likely > most ? inside : kept;
            most = larger(likely, most);
        }
        for (Index j = 0; j < free; ++j) at.y[j] = kept * work.kept[j];
        assemble(problem.set, at.y, at.theta);
    }
    return evaluate(problem, at, work);
}

// f at the point; from a start that is too steep, at the best mixture with the interior point.
double start_inside(const Problem& problem, Point& at, Workspace& work) {
    if (!work.planner.factors()) return start_inside_swept(problem, at, work);
    double f = 0.0;
    if (at.evaluated) {
        f = evaluate_again(problem, at, work);
    } else {
        assemble(problem.set, at.y, at.theta);
        f = evaluate(problem, at, work);
    }
    if (!too_steep(problem, at.p)) return f;
    const Index free = problem.set.num_free;
    copy(at.y, free, work.kept.data);
    copy(at.y, free, work.best.data);
    for (double inside : kInside) {
        for (Index j = 0; j < free; ++j) at.y[j] = inside * work.kept[j];
        assemble(problem.set, at.y, at.theta);
        const double inner = evaluate(problem, at, work);
        if (inner > f) {
            f = inner;
            copy(at.y, free, work.best.data);
        }
    }
    copy(work.best.data, free, at.y);
    assemble(problem.set, at.y, at.theta);
    return evaluate(problem, at, work);
}

// Values as exact as the next step needs them. Whatever a climb ends with is computed as exactly as sweeps can.
void choose_precision(const Problem& problem, const State& state, Workspace& work) {
    const double rest = 1.0 - problem.model.discount, bias = problem.objective.bias;
    if (work.planner.factors() || bias == 0.0) return;
    const double for_f = kOfRise * state.rise / bias, for_slope = kOfResidual * work.residual * work.size * rest / bias;
    const double wanted = smaller(kRoughly / rest, smaller(for_f, for_slope));
    work.planner.precision = larger(sweep_precision(problem.model.discount), wanted);
}

// Whether values are as exact as sweeps can. Where they are not, all is computed again at the same point, and the climb
// goes on. With a held policy it only finds a start, for which values may stay rough.
bool is_exact(const Problem& problem, Point& at, Workspace& work, State& state) {
    const double exact = sweep_precision(problem.model.discount);
    if (work.planner.factors() || problem.objective.bias == 0.0 || problem.objective.held) return true;
    if (work.planner.precision <= exact) return true;
    work.precision = work.planner.precision = exact;
    state.f = evaluate_at_p(problem, at, work);
    state.stalled = 0;
    find_slope(problem, at, work);
    judge(problem, at, work);
    return false;
}

// Stands at the start, with its slope; false where no start has a finite objective.
bool begin(const Problem& problem, Point& at, Workspace& work, State& state) {
    fill(work.step.data, work.step.size, kInfinity);
    fill(work.multiplier.data, work.multiplier.size, 0.0);
    fill(work.product.last.data, work.product.last.size, std::numeric_limits<double>::quiet_NaN());
    work.residual = 1.0;
    work.gap = kInfinity;
    if (work.surrogate != nullptr) work.surrogate->has_last = false;
    work.planner.visits_known = false;
    work.planner.precision = sweep_precision(problem.model.discount);
    if (!at.evaluated) work.planner.precision = larger(work.planner.precision, kRoughly / (1.0 - problem.model.discount));
    work.precision = work.planner.precision;
    state.f = start_inside(problem, at, work);
    if (state.f == -kInfinity) return false;
    find_slope(problem, at, work);
    work.planner.visits_known = true;
    return true;
}

void find_step(const Problem& problem, Point& at, Workspace& work, State& state) {
    if (is_linearised(problem, work)) {
        find_linearised_step(problem, at, work);
    } else if (problem.model.features.is_dense()) {
        find_newton_step(problem, at, work);
    } else {  // near the top, steps as exact as it pays
        find_product_step(problem, at, smaller(0.1, larger(1e-4, work.residual)), work);
    }
    state.rise = dot(work.slope.data, work.step.data, problem.set.num_free);
    judge(problem, at, work);
}

// Whether the climb ends before the step is taken, and how.
bool finished(const State& state, const Workspace& work, Status& status) {
    if (work.residual <= work.target) {
        status = Status::converged;
    } else if (!(state.rise > 0.0)) {
        status = Status::no_step;
    } else if ((state.stalled >= 2 && work.residual <= kStalledResidual) || state.stalled >= 10) {
        status = Status::stalled;
    } else {
        return false;
    }
    return true;
}

// Whether the climb is on its way to what is known, or to less.
bool leads_nowhere(const Problem& problem, const State& state, const Point& at, const Workspace& work, const Known& known) {
    const Standing standing{state.f, state.rise, problem.objective.bias * work.precision};
    return lands_on_known(known, state.f, at, work) || is_hopeless(known, standing, at.y);
}

// Whether it turned out to be on the way to what is known.
bool polish_at(const Problem& problem, Factors factors, const Known& known, Point& at, Workspace& work, State& state) {
    const Polished polished = polish(problem, state.f, factors, known, at, work);
    state.f = polished.f;
    return state.known = polished.known;
}

// Takes over what the line search reached; the multipliers of a whole step may already prove the new point.
void assess(const Problem& problem, const Progress& progress, const Known& known, Point& at, Workspace& work, State& state) {
    const double noise = rounding_error(problem, work, state.f);
    state.stalled = progress.f <= state.f + noise ? state.stalled + 1 : 0;
    state.f = progress.f;
    work.precision = work.planner.precision;
    find_slope(problem, at, work);
    if (progress.length != 1.0) return;
    judge(problem, at, work);
    if (!at.factored || !worth_polishing(problem, work)) return;
    polish_at(problem, Factors::of_this_one, known, at, work, state);
}

}  // namespace

Outcome climb(const Problem& problem, Point& at, Workspace& work, const Known& known) {
    State state;
    if (!begin(problem, at, work, state)) return {-kInfinity, kInfinity, kInfinity, Status::no_start, 0, false};
    if (at.factored && polish_at(problem, Factors::of_last_climb, known, at, work, state)) return given_up(state, work);
    if (work.residual <= work.target && is_exact(problem, at, work, state)) return outcome(state, work, Status::converged);
    for (; state.iteration < kMostIterations; ++state.iteration) {
        find_step(problem, at, work, state);
        if (leads_nowhere(problem, state, at, work, known)) return given_up(state, work);
        if (Status status; finished(state, work, status)) {
            if (is_exact(problem, at, work, state)) return outcome(state, work, status);
            continue;
        }
        choose_precision(problem, state, work);
        const Progress progress = line_search(problem, state.f, state.rise, at, work);
        if (!progress.risen) {
            state.f = progress.f;
            if (is_exact(problem, at, work, state)) return outcome(state, work, Status::line_search_failed);
            continue;
        }
        assess(problem, progress, known, at, work, state);
        if (state.known) return given_up(state, work);
        if (progress.length == 1.0 && work.residual <= work.target && is_exact(problem, at, work, state)) {
            ++state.iteration;
            return outcome(state, work, Status::converged);
        }
    }
    is_exact(problem, at, work, state);
    judge(problem, at, work);
    return outcome(state, work, Status::out_of_iterations);
}

}  // namespace vb
