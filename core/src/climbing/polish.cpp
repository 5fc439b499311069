#include "climbing/polish.hpp"

#include "common/tuning.hpp"
#include "linalg/product.hpp"

namespace vb {

namespace {

// step = Z (Z' B Z)^{-1} Z' g on the face of the last program, and the multipliers that go with g there. False, and the
// multipliers as they were, where one would be negative: another face is better.
bool find_step_on_face(const Point& at, const Slope& slope, const PolishScratch& room, Step& step) {
    const Index m = slope.in_y.size, count = at.num_active[0];
    const Frame frame = at.frame.sized(m);
    double *found = room.multiplier.data, *along = room.along.data;
    multiply_rows(frame.rows, slope.in_y.data, along);
    fill(step.move.data, m, 0.0);
    add_rows({frame.rows[count], m - count, m}, along + count, step.move.data);
    for (Index k = count - 1; k >= 0; --k) {
        double total = -along[k];
        for (Index i = k + 1; i < count; ++i) total -= frame.upper[k][i] * found[i];
        found[k] = total / frame.upper[k][k];
        if (found[k] < 0.0) return false;
    }
    copy(found, count, step.multiplier.data);
    return true;
}

// Corrects the frame by how the slope has changed along the step, from what it was `before`. What of the slope counted on the
// face is what the multipliers had left of it.
void learn_from_step(const Ascent& run, Vector before) {
    const Index m = run.problem.set.num_free;
    for (Index j = 0; j < m; ++j) before[j] -= run.tools.slope.in_y[j];
    const Secant secant{run.tools.step.move.data, run.tools.rest.data, before.data};
    learn(secant, m, run.tools.polish.mixed.data, run.at.frame);
}

// y where the step leads.
const double* end_of_step(const Ascent& run) {
    const Vector y = run.tools.polish.y;
    for (Index j = 0; j < y.size; ++j) y[j] = run.at.y[j] + run.tools.step.move[j];
    return y.data;
}

bool step_holds(const Ascent& run) {
    ProgramScratch& program = run.tools.program;
    return all_hold(program.near, run.problem.set.blocks[0], end_of_step(run), program.slack.data);
}

// Moves the point along the step where f rises by a part of what the slope promises; false, and everything as it was, where it
// does not.
bool take_step(Ascent& run, double part) {
    const Problem& problem = run.problem;
    const Index m = problem.set.num_free;
    Planner& planner = run.tools.planner;
    const double rise = part * dot(run.tools.slope.in_y.data, run.tools.step.move.data, m);
    const double* y = end_of_step(run);
    assemble(problem.set, y, run.at.theta);
    const double reached = evaluate(problem, run.at, planner, run.precision);
    const bool risen = reached >= run.f + rise - noise_of(run);
    if (risen) {
        copy(y, m, run.at.y);
        run.f = reached;
    } else {
        assemble(problem.set, run.at.y, run.at.theta);
        run.f = evaluate(problem, run.at, planner, run.precision);
    }
    find_slope_here(run);
    return risen;
}

bool is_on_way_to_rival(const Ascent& run) {
    return leads_to_rival(run.rivals, {run.at.y, run.tools.step.move.data, run.at.policy, run.f});
}

}  // namespace

bool worth_polishing(const Ascent& run) {
    const bool many = run.problem.model.features.is_dense() && run.problem.set.num_free >= tuning.polish_coordinates;
    return many && run.verdict.residual > tuning.climb_target && run.verdict.residual <= run.tools.approach.pace.near;
}

Polished polish(Ascent& run, Factors factors) {
    const Approach& approach = run.tools.approach;
    const double target = approach.polishes_on ? tuning.climb_target : larger(tuning.climb_target, run.target);
    const Vector slope_before = run.tools.polish.before;
    double before = factors == Factors::of_last_climb ? kInfinity : approach.pace.first;
    for (Index faces = approach.pace.faces;;) {
        bool on_face = find_step_on_face(run.at, run.tools.slope, run.tools.polish, run.tools.step);
        if (on_face) {
            run.verdict = judge_here(run);
            if (run.verdict.residual <= target || !(run.verdict.residual < approach.pace.quick * before)) break;
            if (is_on_way_to_rival(run)) return Polished::leads_to_rival;
            before = run.verdict.residual;
            on_face = step_holds(run);
        }
        if (!on_face) {
            if (faces-- <= 0 || !solve_on_frame(run)) break;
            before = kInfinity;
        }
        copy(run.tools.slope.in_y.data, slope_before.size, slope_before.data);
        if (!take_step(run, on_face ? 0.0 : tuning.polish_other_face)) break;
        if (on_face && before > tuning.polish_teaches) learn_from_step(run, slope_before);
    }
    return Polished::done;
}

}  // namespace vb
