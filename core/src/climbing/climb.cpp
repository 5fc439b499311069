#include "climbing/climb.hpp"

#include "climbing/line_search.hpp"
#include "climbing/newton_step.hpp"
#include "climbing/polish.hpp"
#include "climbing/product_step.hpp"
#include "climbing/surrogate.hpp"
#include "common/clock.hpp"
#include "common/tuning.hpp"

#include <initializer_list>
#include <utility>

namespace vb {

namespace {

// Whether an observed transition is all but impossible at p. At a maximum n_i/p_i is of the order of all counts and the
// bias together; far above, steps would only double p_i each time.
bool is_too_steep(const Problem& problem, const double* p) {
    const Objective& objective = problem.objective;
    double total = 1.0 + objective.bias / (1.0 - problem.model.discount), steepest = 0.0;
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        total += objective.counts[i];
        steepest = larger(steepest, p[i] > 0.0 ? objective.counts[i] / p[i] : kInfinity);
    }
    return steepest > tuning.climb_too_steep * total;
}

double evaluate_here(const Ascent& run) { return evaluate(run.problem, run.at, run.tools.planner, run.precision); }

// Stands at a part of the start, the rest the interior point.
void stand_at_part(const Ascent& run, double part) {
    const Vector given = run.tools.start.given;
    for (Index j = 0; j < given.size; ++j) run.at.y[j] = part * given[j];
    assemble(run.problem.set, run.at.y, run.at.theta);
}

// f at the point; from a start that is too steep, at its most likely mixture with the interior point.
double start_where_likely(const Ascent& run) {
    const Problem& problem = run.problem;
    if (run.at.evaluated && !is_too_steep(problem, run.at.p)) return evaluate_again(problem, run.at);
    assemble(problem.set, run.at.y, run.at.theta);
    find_observed_p(problem, run.at);
    if (is_too_steep(problem, run.at.p)) {
        double most = concave_part(problem, run.at), kept = 1.0;
        copy(run.at.y, problem.set.num_free, run.tools.start.given.data);
        for (double part : {tuning.climb_keeps_most, tuning.climb_keeps_much, tuning.climb_keeps_half}) {
            stand_at_part(run, part);
            find_observed_p(problem, run.at);
            const double likely = concave_part(problem, run.at);
            kept = likely > most ? part : kept;
            most = larger(likely, most);
        }
        stand_at_part(run, kept);
    }
    return evaluate_here(run);
}

// f at the point; from a start that is too steep, at its best mixture with the interior point.
double start_where_best(const Ascent& run) {
    const Problem& problem = run.problem;
    const Index free = problem.set.num_free;
    double f = 0.0;
    if (run.at.evaluated) {
        f = evaluate_again(problem, run.at);
    } else {
        assemble(problem.set, run.at.y, run.at.theta);
        f = evaluate_here(run);
    }
    if (!is_too_steep(problem, run.at.p)) return f;
    double* best = run.tools.start.best.data;
    copy(run.at.y, free, run.tools.start.given.data);
    copy(run.at.y, free, best);
    for (double part : {tuning.climb_keeps_most, tuning.climb_keeps_much, tuning.climb_keeps_half}) {
        stand_at_part(run, part);
        const double inner = evaluate_here(run);
        if (inner > f) {
            f = inner;
            copy(run.at.y, free, best);
        }
    }
    copy(best, free, run.at.y);
    assemble(problem.set, run.at.y, run.at.theta);
    return evaluate_here(run);
}

// Nothing of the last climb may remain.
void forget_last_climb(Climber& tools) {
    fill(tools.step.move.data, tools.step.move.size, kInfinity);
    fill(tools.step.multiplier.data, tools.step.multiplier.size, 0.0);
    fill(tools.product.last.data, tools.product.last.size, std::numeric_limits<double>::quiet_NaN());
    tools.slope.has_visits = false;
    if (tools.surrogate != nullptr) tools.surrogate->has_last = false;
}

// Stands at the start, with its slope; false where no start has a finite objective.
bool begin(Ascent& run) {
    const Approach& approach = run.tools.approach;
    forget_last_climb(run.tools);
    run.precision = run.at.evaluated ? approach.finest : larger(approach.finest, approach.roughest);
    run.error = run.precision;
    run.f = approach.plans_cost_most ? start_where_likely(run) : start_where_best(run);
    if (run.f == -kInfinity) return false;
    find_slope_here(run);
    return true;
}

// Whether values are as exact as they can be. With a held policy a climb only finds a start, for which they may stay rough.
bool is_exact(const Ascent& run) {
    const Objective& objective = run.problem.objective;
    return objective.bias == 0.0 || objective.held || run.precision <= run.tools.approach.finest;
}

// Computes everything again at the same point, as exactly as it can be.
void make_exact(Ascent& run) {
    run.error = run.precision = run.tools.approach.finest;
    run.f = evaluate_at_p(run.problem, run.at, run.tools.planner, run.precision);
    run.stalled = 0;
    find_slope_here(run);
    run.verdict = judge_here(run);
}

// How exact values have to be for the next step. Whatever a climb ends with is computed as exactly as it can be.
double precision_for_step(const Ascent& run) {
    const Approach& approach = run.tools.approach;
    const double rest = 1.0 - run.problem.model.discount, bias = run.problem.objective.bias;
    if (bias == 0.0) return run.precision;
    const double for_f = tuning.climb_f_error * run.rise / bias;
    const double for_slope = tuning.climb_slope_error * run.verdict.residual * run.tools.slope.size * rest / bias;
    return larger(approach.finest, smaller(smaller(for_f, for_slope), approach.roughest));
}

void find_step(Ascent& run) {
    if (is_linearised(run)) {
        find_linearised_step(run);
    } else if (run.problem.model.features.is_dense()) {
        find_newton_step(run);
    } else {
        find_product_step(run);
    }
    run.rise = dot(run.tools.slope.in_y.data, run.tools.step.move.data, run.problem.set.num_free);
    run.verdict = judge_here(run);
}

bool is_on_way_to_rival(const Ascent& run) {
    const Standing standing{run.f, run.rise, run.problem.objective.bias * run.error};
    return leads_to_rival(run.rivals, {run.at.y, run.tools.step.move.data, run.at.policy, run.f}) ||
           is_hopeless(run.rivals, standing, run.at.y);
}

// What a turn of the climb comes to.
enum class Turn { goes_on, ends, leads_to_rival };

struct Ending {
    Turn turn = Turn::goes_on;
    Status status = Status::ok;  // where it ends
    Index steps = 0;             // taken in this turn
};

// Whether the climb ends before the step is taken, and how.
Ending ending_before_step(const Ascent& run) {
    const double residual = run.verdict.residual;
    const bool settled = run.stalled >= tuning.climb_stalled_steps && residual <= tuning.climb_stalled_residual;
    if (residual <= run.target) return {Turn::ends, Status::converged};
    if (!(run.rise > 0.0)) return {Turn::ends, Status::no_step};
    if (settled || run.stalled >= tuning.climb_stuck_steps) return {Turn::ends, Status::stalled};
    return {};
}

// Takes over what the line search reached; the multipliers of a whole step may already prove the new point.
Ending take_over(Ascent& run, const Progress& progress) {
    run.stalled = progress.f <= run.f + noise_of(run) ? run.stalled + 1 : 0;
    run.f = progress.f;
    run.error = run.precision;
    find_slope_here(run);
    if (progress.length != 1.0) return {};
    run.verdict = judge_here(run);
    if (run.at.factored && worth_polishing(run) && polish(run, Factors::of_this_one) == Polished::leads_to_rival) {
        return {Turn::leads_to_rival};
    }
    return run.verdict.residual <= run.target ? Ending{Turn::ends, Status::converged, 1} : Ending{};
}

// One step, and what it comes to.
Ending take_turn(Ascent& run) {
    find_step(run);
    if (is_on_way_to_rival(run)) return {Turn::leads_to_rival};
    if (const Ending ending = ending_before_step(run); ending.turn == Turn::ends) return ending;
    run.precision = precision_for_step(run);
    const Progress progress = line_search(run);
    if (progress.risen) return take_over(run, progress);
    run.f = progress.f;
    return {Turn::ends, Status::line_search_failed};
}

Outcome outcome(const Ascent& run, Status status, Index steps = 0) {
    const std::int32_t iterations = static_cast<std::int32_t>(run.iteration + steps);
    return {run.f, run.verdict.residual, run.verdict.gap, status, iterations, false};
}

Outcome given_up(const Ascent& run) {
    Outcome found = outcome(run, Status::stalled);
    found.abandoned = true;
    return found;
}

Outcome climb_from_start(Ascent& run) {
    if (!begin(run)) return {-kInfinity, kInfinity, kInfinity, Status::no_start, 0, false};
    if (run.at.factored && polish(run, Factors::of_last_climb) == Polished::leads_to_rival) return given_up(run);
    if (run.verdict.residual <= run.target) {
        if (is_exact(run)) return outcome(run, Status::converged);
        make_exact(run);
    }
    for (; run.iteration < tuning.climb_iterations; ++run.iteration) {
        if (time_is_up()) return outcome(run, Status::out_of_time);
        const Ending ending = take_turn(run);
        if (ending.turn == Turn::leads_to_rival) return given_up(run);
        if (ending.turn == Turn::goes_on) continue;
        if (is_exact(run)) return outcome(run, ending.status, ending.steps);
        make_exact(run);
    }
    if (!is_exact(run)) make_exact(run);
    run.verdict = judge_here(run);
    return outcome(run, Status::out_of_iterations);
}

}  // namespace

Outcome climb(const Problem& problem, Point& at, Climber& tools, const Rivals& rivals) {
    Ascent run(problem, rivals, at, tools);
    double* own = at.p;
    const Outcome found = climb_from_start(run);
    if (at.p != own) {  // line searches exchanged it for theirs
        copy(at.p, problem.model.num_transitions, own);
        std::swap(at.p, tools.line.p.data);
    }
    return found;
}

}  // namespace vb
