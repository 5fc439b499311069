#include "climbing/product_step.hpp"

#include "climbing/block_program.hpp"
#include "climbing/curvature.hpp"
#include "climbing/face_correction.hpp"

namespace vb {

namespace {

// Whether a block is at rest and its gradient has not moved: then it stays at rest. Remembers the gradient.
bool rests(const Block& block, Workspace& work) {
    bool same = true;
    for (Index j = block.first_free; j < block.first_free + block.num_free; ++j) {
        same = same && work.slope[j] == work.product.last[j] && vb::fabs(work.step[j]) <= 1e-14;
        work.product.last[j] = work.slope[j];
    }
    return same;
}

// Z (Z'BZ)^{-1} Z' on the face where the block's program ended: a preconditioner for the correction.
void keep_inverse(const Block& block, Index num_active, bool solved, Workspace& work) {
    const Index m = block.num_free;
    Matrix inverse{work.product.inverse.data + block.first_free_square, m, m};
    ConstMatrix frame = qp_frame(work.qp, m);
    fill(inverse.data, m * m, 0.0);
    if (!solved) return;
    for (Index k = num_active; k < m; ++k) {
        for (Index i = 0; i < m; ++i) add_scaled(frame[k][i], frame[k], m, inverse[i]);
    }
}

void step_block(const Problem& problem, Index b, Point& at, Workspace& work) {
    const Block& block = problem.set.blocks[b];
    Matrix B{work.product.concave.data + block.first_free_square, block.num_free, block.num_free};
    reduce_hessian(block, work.product, B);
    soften(B, work.slope.data + block.first_free, block.diameter, problem.objective.ridge);
    const bool solved = solve_block(problem, b, B, at.num_active[b], at, work) == QpStatus::solved;
    if (!solved) {
        at.num_active[b] = 0;
        fill(work.step.data + block.first_free, block.num_free, 0.0);
    }
    keep_inverse(block, at.num_active[b], solved, work);
}

}  // namespace

void find_product_step(const Problem& problem, Point& at, double accuracy, Workspace& work) {
    find_block_hessians(problem, at, work);
    for (Index b = 0; b < problem.set.num_blocks; ++b) {
        const Block& block = problem.set.blocks[b];
        if (block.num_free == 0) continue;
        if (rests(block, work)) {
            fill(work.step.data + block.first_free, block.num_free, 0.0);
        } else {
            step_block(problem, b, at, work);
        }
    }
    if (problem.objective.bias > 0.0 && work.planner.factors()) correct_on_face(problem, at, accuracy, work);
}

}  // namespace vb
