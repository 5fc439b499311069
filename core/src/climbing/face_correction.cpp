#include "climbing/face_correction.hpp"

#include "linalg/lu.hpp"

namespace vb {

namespace {

constexpr int kMostProducts = 30;

// The blocks that govern a pair of the policy: no other sees the value's curvature.
ConstIndices touched_blocks(const Problem& problem, const Point& at, ProductWork& work) {
    const Model& model = problem.model;
    fill<std::uint8_t>(work.met.data, problem.set.num_blocks, 0);
    Index count = 0;
    for (Index s = 0; s < model.num_states; ++s) {
        const Index b = problem.set.block_of_pair[model.pair(s, at.policy[s])];
        if (work.met[b] || problem.set.blocks[b].num_free == 0) continue;
        work.met[b] = 1;
        work.touched[count++] = b;
    }
    return {work.touched.data, count};
}

// One conjugate-gradient run: the problem, where it stands, and the blocks concerned.
struct Correction {
    const Problem& problem;
    const Point& at;
    Workspace& work;
    ConstIndices touched;

    const Block& block(Index b) const { return problem.set.blocks[b]; }
};

// out = (block diagonal matrices) x on the touched blocks; returns <x, out>
double multiply(const Correction& run, const double* matrices, const double* x, double* out) {
    double product = 0.0;
    for (Index b : run.touched) {
        const Block& block = run.block(b);
        const Index m = block.num_free, first = block.first_free;
        for (Index i = 0; i < m; ++i) {
            const double total = dot(matrices + block.first_free_square + i * m, x + first, m);
            out[first + i] = total;
            product += total * x[first + i];
        }
    }
    return product;
}

// out = bias * H x, all in y
void curve(const Correction& run, const double* x, double* out) {
    ProductWork& work = run.work.product;
    for (Index b : run.touched) expand_block(run.block(b), x, work.along.data);
    multiply_value_hessian(run.problem, run.at, work.along.data, work.curved.data, run.work);
    for (Index b : run.touched) {
        reduce_block(run.block(b), work.curved.data, out);
        double* own = out + run.block(b).first_free;
        for (Index j = 0; j < run.block(b).num_free; ++j) own[j] *= run.problem.objective.bias;
    }
}

template <class Operation>
void for_touched(const Correction& run, Operation operation) {
    for (Index b : run.touched) {
        const Block& block = run.block(b);
        for (Index j = block.first_free; j < block.first_free + block.num_free; ++j) operation(j);
    }
}

// Solves (B - bias H) e = bias H d on the face, from e = 0.
void run_conjugate_gradients(const Correction& run, double accuracy) {
    ProductWork& w = run.work.product;
    double size = multiply(run, w.inverse.data, w.residual.data, w.preconditioned.data);
    const double first = size;
    for_touched(run, [&](Index j) { w.search[j] = w.preconditioned[j]; });
    for (int k = 0; k < kMostProducts; ++k) {
        if (size <= accuracy * accuracy * first || size <= 0.0) return;
        curve(run, w.search.data, w.preconditioned.data);
        double curvature = multiply(run, w.concave.data, w.search.data, w.image.data);
        for_touched(run, [&](Index j) {
            w.image[j] -= w.preconditioned[j];
            curvature -= w.preconditioned[j] * w.search[j];
        });
        if (curvature <= 1e-12 * size) return;
        const double step = size / curvature;
        for_touched(run, [&](Index j) {
            w.correction[j] += step * w.search[j];
            w.residual[j] -= step * w.image[j];
        });
        const double next = multiply(run, w.inverse.data, w.residual.data, w.preconditioned.data);
        for_touched(run, [&](Index j) { w.search[j] = w.preconditioned[j] + (next / size) * w.search[j]; });
        size = next;
    }
}

// The greatest t in [0, 1] for which y + step + t correction stays in P, where y + step is.
double longest(const Correction& run) {
    const double *step = run.work.step.data, *e = run.work.product.correction.data;
    double limit = 1.0;
    for (Index b : run.touched) {
        const Block& block = run.block(b);
        const Index first = block.first_free;
        for (Index i = 0; i < block.facets.count; ++i) {
            const double* normal = block.facets.normal(i);
            const double rate = dot(normal, e + first, block.num_free);
            if (rate >= -1e-14) continue;
            double slack = block.facets.offsets[i];
            for (Index j = 0; j < block.num_free; ++j) slack += normal[j] * (run.at.y[first + j] + step[first + j]);
            if (slack + limit * rate < 0.0) limit = larger(0.0, slack) / -rate;
        }
    }
    return limit;
}

}  // namespace

void multiply_value_hessian(const Problem& problem, const Point& at, const double* v, double* out, Workspace& work) {
    const Model& model = problem.model;
    double *dV = work.product.dV.data, *dw = work.product.dw.data;
    fill(dV, model.num_states, 0.0);
    fill(dw, model.num_states, 0.0);
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, at.policy[s]);
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            const double change = model.features.along(i, v);
            dV[s] += change * model.gain(i, at.V);
            dw[model.successor[i]] += model.discount * change * work.visits[s];
        }
    }
    lu_solve(at.lu, dV);
    lu_solve_transposed(at.lu, dw);
    fill(out, problem.set.dimension, 0.0);
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, at.policy[s]);
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            const double ahead = model.discount * work.visits[s] * dV[model.successor[i]];
            model.features.add(i, ahead + dw[s] * model.gain(i, at.V), out);
        }
    }
}

void correct_on_face(const Problem& problem, const Point& at, double accuracy, Workspace& work) {
    ProductWork& w = work.product;
    const Correction run{problem, at, work, touched_blocks(problem, at, w)};
    fill(w.along.data, problem.set.dimension, 0.0);  // pairs with one successor have no block, and do not change
    fill(w.residual.data, problem.set.num_free, 0.0);
    fill(w.correction.data, problem.set.num_free, 0.0);
    curve(run, work.step.data, w.residual.data);
    run_conjugate_gradients(run, accuracy);
    add_scaled(longest(run), w.correction.data, problem.set.num_free, work.step.data);
}

}  // namespace vb
