#include "climbing/newton_step.hpp"

#include <initializer_list>

namespace vb {

namespace {

// Adds a multiple of normal normal' for the facets pressed against: B becomes convex across the face, not along it.
void stiffen(const Facets& facets, ConstIndices active, const double* multiplier, const DenseScratch& dense) {
    Matrix B = dense.B, concave = dense.concave;
    const Index m = B.rows;
    double weight = 0.0;  // at least the greatest curvature that value can add
    for (Index i = 0; i < m; ++i) {
        double total = 0.0;
        for (Index j = 0; j < m; ++j) total += vb::fabs(concave[i][j] - B[i][j]);
        weight = larger(weight, total);
    }
    for (Index k = 0; k < active.size; ++k) {
        if (!(multiplier[k] > 0.0)) continue;
        const double* normal = facets.normal(active[k]);
        for (Index i = 0; i < m; ++i) add_scaled(weight * normal[i], normal, m, B[i]);
    }
}

enum class Curvature { exact, stiffened, concave };

// B of the program, with `pressed` facets of the last one, whose multipliers are at hand.
void choose_curvature(Ascent& run, Curvature kind, ConstIndices pressed) {
    const DenseScratch& dense = run.tools.dense;
    const Block& block = run.problem.set.blocks[0];
    const Objective& objective = run.problem.objective;
    const Index m = dense.B.rows;
    copy(dense.concave.data, m * m, dense.B.data);
    if (kind != Curvature::concave) add_scaled(-objective.bias, dense.bent.data, m * m, dense.B.data);
    if (kind == Curvature::stiffened) stiffen(block.facets, pressed, run.tools.step.multiplier.data, dense);
    soften(dense.B, run.tools.slope.in_y.data, block.diameter, objective.ridge);
}

}  // namespace

bool find_newton_step(Ascent& run) {
    Point& at = run.at;
    Climber& tools = run.tools;
    const bool bends = run.problem.objective.bias > 0.0 && tools.approach.bends;
    find_concave_curvature(run.problem, at, tools.dense);
    if (bends) find_value_curvature(run.problem, at, tools.slope.visits.data, tools.planner, tools.dense);
    const Index last = at.num_active[0];
    for (Curvature kind : {Curvature::exact, Curvature::stiffened, Curvature::concave}) {
        if (!bends && kind != Curvature::concave) continue;
        choose_curvature(run, kind, {at.active, last});
        at.factored = solve_block(run, 0, tools.dense.B, last) == QpStatus::solved;
        if (at.factored) return true;
    }
    at.num_active[0] = 0;
    fill(tools.step.move.data, run.problem.set.num_free, 0.0);
    return false;
}

}  // namespace vb
