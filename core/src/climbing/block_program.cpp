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

// The program over the facets near the point; false where its solution leaves the neighbourhood.
bool solve_near(const Block& block, Matrix B, Index num_guess, Point& at, Workspace& work, QpStatus& status) {
    NearFacets& near = work.near;
    if (!look_around(near, block, at.y, Look::of_this_climb)) return false;
    for (Index k = 0; k < num_guess; ++k) {
        if (near.place[at.active[k]] < 0) return false;
    }
    const Facets facets = near.view(block.num_free);
    facet_values(facets, facets.offsets, at.y, work.slack.data);
    for (Index k = 0; k < num_guess; ++k) at.active[k] = near.place[at.active[k]];
    const QuadraticProgram program{B, work.slope.data, facets, work.slack.data};
    QpSolution solution{work.step.data, at.active, work.qp.multiplier.data, num_guess, is_framed(at)};
    status = solve_qp(program, solution, work.qp);
    at.num_active[0] = solution.num_active;
    at.factored = status == QpStatus::solved;
    const Index kept = larger(num_guess, solution.num_active);
    for (Index k = 0; k < kept; ++k) at.active[k] = near.facet[at.active[k]];
    copy(work.qp.multiplier.data, solution.num_active, work.multiplier.data);
    for (Index j = 0; j < block.num_free; ++j) work.rest[j] = at.y[j] + work.step[j];
    return status == QpStatus::not_convex || within_reach(near, work.rest.data, block.num_free);
}

}  // namespace

QpStatus solve_block(const Problem& problem, Index b, Matrix B, Index num_guess, Point& at, Workspace& work) {
    const Block& block = problem.set.blocks[b];
    const Index first = block.first_free;
    if (QpStatus status; solve_near(block, B, num_guess, at, work, status)) return status;
    if (at.factored || at.num_active[b] < num_guess) num_guess = at.num_active[b];
    facet_values(block.facets, block.facets.offsets, at.y + first, work.slack.data);
    const QuadraticProgram program{B, work.slope.data + first, block.facets, work.slack.data};
    QpSolution solution{work.step.data + first, at.active + first, work.qp.multiplier.data, num_guess, is_framed(at)};
    const QpStatus status = solve_qp(program, solution, work.qp);
    at.num_active[b] = solution.num_active;
    copy(work.qp.multiplier.data, solution.num_active, work.multiplier.data + first);
    return status;
}

}  // namespace vb
