#include "climbing/block_program.hpp"

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

}  // namespace

QpStatus solve_block(const Problem& problem, Index b, Matrix B, Index num_guess, Point& at, Workspace& work) {
    const Block& block = problem.set.blocks[b];
    const Index first = block.first_free;
    QuadraticProgram program{B, work.slope.data + first, block.facets, work.slack.data};
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

}  // namespace vb
