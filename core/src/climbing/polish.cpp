#include "climbing/polish.hpp"

#include "climbing/kkt.hpp"
#include "climbing/objective.hpp"

namespace vb {

namespace {

constexpr double kQuick = 0.1;          // ... while each step makes the residual so much smaller ...
constexpr double kTeaching = 1e-9;      // below this residual, changes of the slope are as much rounding as curvature
constexpr Index kManyCoordinates = 4;   // ... and with so many free coordinates: with fewer, new factors are cheap

// step = Z (Z' B Z)^{-1} Z' g on the face of the last program, and the multipliers that go with g there. False, and the
// multipliers as they were, where one would be negative: another face is better.
bool step_on_face(const Point& at, Workspace& work) {
    const Index m = work.slope.size, count = at.num_active[0];
    ConstMatrix frame = qp_frame(work.qp, m), upper = qp_upper(work.qp, m);
    const double* g = work.slope.data;
    double *step = work.step.data, *found = work.rest.data;
    fill(step, m, 0.0);
    for (Index k = count; k < m; ++k) add_scaled(dot(frame[k], g, m), frame[k], m, step);
    for (Index k = count - 1; k >= 0; --k) {
        double total = -dot(frame[k], g, m);
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

}  // namespace

bool worth_polishing(const Problem& problem, const Workspace& work) {
    const bool many = problem.model.features.is_dense() && problem.set.num_free >= kManyCoordinates;
    return many && work.residual > kTarget && work.residual <= kNear;
}

double polish(const Problem& problem, double f, double before, Point& at, Workspace& work) {
    const Index m = problem.set.num_free;
    while (step_on_face(at, work)) {
        judge(problem, at, work);
        if (work.residual <= kTarget || !(work.residual < kQuick * before)) break;
        before = work.residual;
        for (Index j = 0; j < m; ++j) work.trial_y[j] = at.y[j] + work.step[j];
        if (!all_hold(work.near, problem.set.blocks[0], work.trial_y.data, work.slack.data)) break;
        assemble(problem.set, work.trial_y.data, at.theta);
        const double reached = evaluate(problem, at, work);
        if (!(reached >= f - rounding_error(problem, work, f))) {
            assemble(problem.set, at.y, at.theta);
            f = evaluate(problem, at, work);
            find_slope(problem, at, work);
            break;
        }
        copy(work.trial_y.data, m, at.y);
        f = reached;
        copy(work.slope.data, m, work.kept.data);
        find_slope(problem, at, work);
        if (before > kTeaching) learn_from_step(work);
    }
    return f;
}

}  // namespace vb
