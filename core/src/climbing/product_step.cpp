#include "climbing/product_step.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

// Whether a block did not move, and its gradient has not changed since: then it stays at rest.
bool is_at_rest(const Ascent& run, const Block& block) {
    for (Index j = block.first_free; j < block.first_free + block.num_free; ++j) {
        const bool same = run.tools.slope.in_y[j] == run.tools.product.last[j];
        if (!(same && vb::fabs(run.tools.step.move[j]) <= tuning.block_rests)) return false;
    }
    return true;
}

// K = Z (Z'BZ)^{-1} Z' on the face where the block's program ended: a preconditioner for the correction.
void keep_inverse(const Frame& frame, Index num_active, Matrix K) {
    const Index m = K.rows;
    const Matrix rows = frame.sized(m).rows;
    for (Index k = num_active; k < m; ++k) {
        for (Index i = 0; i < m; ++i) add_scaled(rows[k][i], rows[k], m, K[i]);
    }
}

void step_block(Ascent& run, Index b) {
    const Block& block = run.problem.set.blocks[b];
    const Index m = block.num_free;
    ProductScratch& product = run.tools.product;
    const Matrix B{product.concave.data + block.first_free_square, m, m};
    const Matrix K{product.inverse.data + block.first_free_square, m, m};
    reduce_hessian(block, product.hessian.data + block.first_square, product.half.data, B);
    soften(B, run.tools.slope.in_y.data + block.first_free, block.diameter, run.problem.objective.ridge);
    fill(K.data, m * m, 0.0);
    if (solve_block(run, b, B, run.at.num_active[b]) == QpStatus::solved) {
        keep_inverse(run.at.frame, run.at.num_active[b], K);
    } else {
        run.at.num_active[b] = 0;
        fill(run.tools.step.move.data + block.first_free, m, 0.0);
    }
}

}  // namespace

void find_product_step(Ascent& run) {
    const Problem& problem = run.problem;
    Climber& tools = run.tools;
    find_block_hessians(problem, run.at, tools.product.hessian.data);
    for (Index b = 0; b < problem.set.num_blocks; ++b) {
        const Block& block = problem.set.blocks[b];
        const Index first = block.first_free, m = block.num_free;
        if (m == 0) continue;
        const bool rests = is_at_rest(run, block);
        copy(tools.slope.in_y.data + first, m, tools.product.last.data + first);
        if (rests) {
            fill(tools.step.move.data + first, m, 0.0);
        } else {
            step_block(run, b);
        }
    }
    if (problem.objective.bias == 0.0 || !tools.approach.bends) return;
    const Place place{problem, run.at, tools.slope.visits.data};
    const double wanted = larger(tuning.correction_finest, run.verdict.residual);
    const double accuracy = smaller(tuning.correction_roughest, wanted);
    correct_on_face(place, accuracy, tools.product, tools.direction, tools.step.move.data);
}

}  // namespace vb
