#include "climbing/polish.hpp"

#include "climbing/block_program.hpp"
#include "climbing/kkt.hpp"
#include "climbing/objective.hpp"
#include "linalg/product.hpp"

namespace vb {

namespace {

constexpr double kTeaching = 1e-9;      // below this residual, changes of the slope are as much rounding as curvature
constexpr Index kManyCoordinates = 4;   // factors are used again with so many free coordinates: with fewer, new ones are cheap
constexpr double kPart = 1e-4;          // of what the slope promises, a step to another face has to win
constexpr Index kCostly = 32;           // with so many, a program costs as much as several gradients

// When factors are used again.
struct Pace {
    double near;   // from this residual on ...
    double first;  // ... and what it has to be smaller than, times `quick`, for a first step ...
    double quick;  // ... while each step makes the residual so much smaller
    Index faces;   // how often the face may change
};

Pace pace_for(const Workspace& work) {
    const bool costly = work.slope.size >= kCostly && work.planner.factors();
    return costly ? Pace{0.1, kInfinity, 0.4, 3} : Pace{1e-3, 1e-3, 0.1, 0};
}

// step = Z (Z' B Z)^{-1} Z' g on the face of the last program, and the multipliers that go with g there. False, and the
// multipliers as they were, where one would be negative: another face is better.
bool step_on_face(const Point& at, Workspace& work) {
    const Index m = work.slope.size, count = at.num_active[0];
    ConstMatrix frame = qp_frame(work.qp, m), upper = qp_upper(work.qp, m);
    double *step = work.step.data, *found = work.rest.data, *along = work.trial_y.data;
    multiply_rows(frame, work.slope.data, along);
    fill(step, m, 0.0);
    add_rows({frame[count], m - count, m}, along + count, step);
    for (Index k = count - 1; k >= 0; --k) {
        double total = -along[k];
        for (Index i = k + 1; i < count; ++i) total -= upper[k][i] * found[i];
        found[k] = total / upper[k][k];
        if (found[k] < 0.0) return false;
    }
    copy(found, count, work.multiplier.data);
    return true;
}

// Corrects the factors by how the slope, in work.kept before, has changed along the step. `judge` left in work.rest what of it
// counts on the face.
void learn_from_step(Workspace& work) {
    const Index m = work.slope.size;
    double* shown = work.kept.data;
    for (Index j = 0; j < m; ++j) shown[j] -= work.slope[j];
    learn({work.step.data, work.rest.data, shown}, m, work.best.data, work.qp);
}

// Whether the point stays in P along the step.
bool step_holds(const Problem& problem, const Point& at, Workspace& work) {
    const Index m = problem.set.num_free;
    for (Index j = 0; j < m; ++j) work.trial_y[j] = at.y[j] + work.step[j];
    return all_hold(work.near, problem.set.blocks[0], work.trial_y.data, work.slack.data);
}

// Moves the point along the step, the slope before it kept in work.kept, where f rises by a part of what the slope promises;
// false, and everything as it was, where it does not.
bool take_step(const Problem& problem, double part, double& f, Point& at, Workspace& work) {
    const Index m = problem.set.num_free;
    const double rise = part * dot(work.slope.data, work.step.data, m);
    for (Index j = 0; j < m; ++j) work.trial_y[j] = at.y[j] + work.step[j];
    assemble(problem.set, work.trial_y.data, at.theta);
    const double reached = evaluate(problem, at, work);
    const bool risen = reached >= f + rise - rounding_error(problem, work, f);
    if (risen) {
        copy(work.trial_y.data, m, at.y);
        copy(work.slope.data, m, work.kept.data);
        f = reached;
    } else {
        assemble(problem.set, at.y, at.theta);
        f = evaluate(problem, at, work);
    }
    find_slope(problem, at, work);
    return risen;
}

}  // namespace

bool worth_polishing(const Problem& problem, const Workspace& work) {
    const bool many = problem.model.features.is_dense() && problem.set.num_free >= kManyCoordinates;
    return many && work.residual > kTarget && work.residual <= pace_for(work).near;
}

Polished polish(const Problem& problem, double f, Factors factors, const Known& known, Point& at, Workspace& work) {
    const double target = work.planner.factors() ? larger(kTarget, work.target) : kTarget;
    const Pace pace = pace_for(work);
    double before = factors == Factors::of_last_climb ? kInfinity : pace.first;
    for (Index faces = pace.faces;;) {
        bool on_face = step_on_face(at, work);
        if (on_face) {
            judge(problem, at, work);
            if (work.residual <= target || !(work.residual < pace.quick * before)) break;
            if (lands_on_known(known, f, at, work)) return {f, true};
            before = work.residual;
            on_face = step_holds(problem, at, work);
        }
        if (!on_face) {
            if (faces-- <= 0 || !solve_on_frame(problem, at, work)) break;
            before = kInfinity;
        }
        if (!take_step(problem, on_face ? 0.0 : kPart, f, at, work)) break;
        if (on_face && before > kTeaching) learn_from_step(work);
    }
    return {f, false};
}

}  // namespace vb
