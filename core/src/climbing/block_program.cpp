#include "climbing/block_program.hpp"

#include "climbing/curvature.hpp"

namespace vb {

void soften(Matrix B, const double* slope, double diameter, double ridge) {
    const Index m = B.rows;
    double trace = 0.0;
    for (Index i = 0; i < m; ++i) trace += B[i][i];
    const double scale = 1e-13 * trace / static_cast<double>(m) - ridge;
    const double extra = larger(0.0, scale) + 1e-6 * largest_size(slope, m) / diameter + 1e-14;
    for (Index i = 0; i < m; ++i) B[i][i] += extra;
}

namespace {

constexpr Index kManyCoordinates = 32;  // with fewer, a frame is made as fast as it is renewed

bool is_framed(const Point& at) { return at.factored && at.frame.rows >= kManyCoordinates; }

struct Here {
    const Problem& problem;
    const Point& at;
    Workspace& work;
};

void multiply_here(const void* where, const double* v, double* out) {
    const Here& here = *static_cast<const Here*>(where);
    multiply_curvature(here.problem, here.at, v, out, here.work);
}

}  // namespace

QpStatus solve_block(const Problem& problem, Index b, Matrix B, Index num_guess, Point& at, Workspace& work) {
    const Block& block = problem.set.blocks[b];
    const Index first = block.first_free;
    const Here here{problem, at, work};
    const Curve curve{multiply_here, &here};
    QuadraticProgram program{B, work.slope.data + first, block.facets, work.slack.data};
    program.curve = &curve;
    Nearby nearby;
    if (work.near.facet.empty()) {
        facet_values(block.facets, block.facets.offsets, at.y + first, work.slack.data);
    } else {
        nearby = nearby_at(work.near, block, at.y, {at.active, num_guess}, work.slack.data);
        program.nearby = &nearby;
    }
    QpSolution solution{work.step.data + first, at.active + first, work.qp.multiplier.data, num_guess, is_framed(at)};
    const QpStatus status = solve_qp(program, solution, work.qp);
    at.num_active[b] = solution.num_active;
    copy(work.qp.multiplier.data, solution.num_active, work.multiplier.data + first);
    return status;
}

bool solve_on_frame(const Problem& problem, Point& at, Workspace& work) {
    return is_framed(at) && solve_block(problem, 0, {}, at.num_active[0], at, work) == QpStatus::solved;
}

}  // namespace vb
