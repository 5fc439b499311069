#include "climbing/newton_step.hpp"

#include "climbing/block_program.hpp"
#include "climbing/curvature.hpp"

namespace vb {

namespace {

constexpr Index kFewCoordinates = 6;  // without factors the value's curvature is found for so many: sweeps for each

// Adds a multiple of normal normal' for the facets pressed against: B becomes convex across the face, not along it.
void stiffen(const Problem& problem, const Point& at, Index num_active, Workspace& work) {
    Matrix B = work.dense.B, concave = work.dense.concave;
    const Index m = B.rows;
    double weight = 0.0;  // at least the greatest curvature that value can add
    for (Index i = 0; i < m; ++i) {
        double total = 0.0;
        for (Index j = 0; j < m; ++j) total += vb::fabs(concave[i][j] - B[i][j]);
        weight = larger(weight, total);
    }
    for (Index k = 0; k < num_active; ++k) {
        if (!(work.multiplier[k] > 0.0)) continue;
        const double* normal = problem.set.blocks[0].facets.normal(at.active[k]);
        for (Index i = 0; i < m; ++i) add_scaled(weight * normal[i], normal, m, B[i]);
    }
}

enum class Curvature { exact, stiffened, concave };

void choose_curvature(const Problem& problem, const Point& at, Curvature kind, Workspace& work) {
    Matrix B = work.dense.B;
    const Index m = B.rows;
    copy(work.dense.concave.data, m * m, B.data);
    if (kind != Curvature::concave) add_scaled(-problem.objective.bias, work.dense.bent.data, m * m, B.data);
    if (kind == Curvature::stiffened) stiffen(problem, at, at.num_active[0], work);
    soften(B, work.slope.data, problem.set.blocks[0].diameter, problem.objective.ridge);
}

}  // namespace

bool find_newton_step(const Problem& problem, Point& at, Workspace& work) {
    const Index m = problem.set.num_free;
    const bool with_value = problem.objective.bias > 0.0 && (work.planner.factors() || m <= kFewCoordinates);
    find_concave_curvature(problem, at, work);
    if (with_value) find_value_curvature(problem, at, work);
    const Index known = at.num_active[0];  // facets of the last program, whose multipliers are at hand
    constexpr Curvature kinds[] = {Curvature::exact, Curvature::stiffened, Curvature::concave};
    for (Curvature kind : kinds) {
        if (!with_value && kind != Curvature::concave) continue;
        at.num_active[0] = known;
        choose_curvature(problem, at, kind, work);
        at.factored = solve_block(problem, 0, work.dense.B, known, at, work) == QpStatus::solved;
        if (at.factored) return true;
    }
    at.num_active[0] = 0;
    fill(work.step.data, m, 0.0);
    return false;
}

}  // namespace vb
