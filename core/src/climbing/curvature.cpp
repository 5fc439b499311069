#include "climbing/curvature.hpp"

#include "common/tuning.hpp"
#include "linalg/product.hpp"

namespace vb {

namespace {

Matrix matrix_and_beyond(Arena& arena, Index rows, Index cols) {
    return {arena.take<double>(rows * cols + kBeyond).data, rows, cols};
}

}  // namespace

DenseScratch make_dense_scratch(Arena& arena, const Model& model, const FeasibleSet& set) {
    DenseScratch dense;
    const Index m = set.num_free;
    dense.B = arena.matrix(m, m);
    dense.concave = arena.matrix(m, m);
    dense.bent = arena.matrix(m, m);
    dense.Z = matrix_and_beyond(arena, model.num_states, m);
    dense.Y = matrix_and_beyond(arena, model.num_states, m);
    dense.scaled = matrix_and_beyond(arena, tuning.batch_observed, m);
    dense.row = arena.take<double>(m);
    return dense;
}

const double* projected(const Problem& problem, Index i, double* out) {
    const Features& features = problem.model.features;
    const Block& block = problem.set.blocks[0];
    if (features.projected != nullptr) return features.projected + i * block.num_free;
    fill(out, block.num_free, 0.0);
    for (Index k = 0; k < block.num_coordinates; ++k) {
        const double value = features.dense[i * features.dimension + block.coordinates[k]];
        add_scaled(value, block.basis + k * block.num_free, block.num_free, out);
    }
    return out;
}

namespace {

void mirror(Matrix B) {
    for (Index a = 0; a < B.rows; ++a) {
        for (Index c = 0; c < a; ++c) B[c][a] = B[a][c];
    }
}

}  // namespace

void find_concave_curvature(const Problem& problem, const Point& at, DenseScratch& dense) {
    const Objective& objective = problem.objective;
    const Index m = problem.set.num_free;
    Matrix B = dense.concave, scaled = dense.scaled;
    fill(B.data, m * m, 0.0);
    for (Index first = 0; first < objective.num_observed; first += tuning.batch_observed) {
        const Index count = smaller(objective.num_observed - first, tuning.batch_observed);
        for (Index k = 0; k < count; ++k) {
            const Index i = objective.observed[first + k];
            const double weight = vb::sqrt(objective.counts[i]) / at.p[i];
            const double* phi = projected(problem, i, dense.row.data);
            for (Index a = 0; a < m; ++a) scaled[k][a] = weight * phi[a];
        }
        add_transposed_product({scaled.data, count, m}, {scaled.data, count, m}, B);
    }
    for (Index a = 0; a < m; ++a) B[a][a] += objective.ridge;
    mirror(B);
}

namespace {

// The part of state s in Z and Y before solving: row s of Z, and what its successors collect in Y.
void add_each_row(const Problem& problem, const Point& at, Index s, double weight, DenseScratch& dense) {
    const Model& model = problem.model;
    const Index m = problem.set.num_free, pair = model.pair(s, at.policy[s]);
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        const double* phi = projected(problem, i, dense.row.data);
        add_scaled(model.gain(i, at.V), phi, m, dense.Z[s]);
        add_scaled(weight, phi, m, dense.Y[model.successor[i]]);
    }
}

// The same where the pair leads to all states in order, so that its rows are one matrix.
void add_full_rows(const Problem& problem, const Point& at, Index s, double weight, DenseScratch& dense) {
    const Model& model = problem.model;
    const Index m = problem.set.num_free, states = model.num_states, begin = model.pair_begin[model.pair(s, at.policy[s])];
    const double* phi = model.features.projected + begin * m;
    double gain[tuning.batch];
    for (Index first = 0; first < states; first += tuning.batch) {
        const Index count = smaller(states - first, tuning.batch);
        for (Index i = 0; i < count; ++i) gain[i] = model.gain(begin + first + i, at.V);
        add_rows({phi + first * m, count, m}, gain, dense.Z[s]);
    }
    add_scaled(weight, phi, states * m, dense.Y.data);
}

}  // namespace

void find_value_curvature(const Problem& problem, const Point& at, const double* visits, Planner& planner, DenseScratch& dense) {
    const Model& model = problem.model;
    const Index m = problem.set.num_free, states = model.num_states;
    Matrix Z = dense.Z, Y = dense.Y, out = dense.bent;
    fill(Z.data, states * m, 0.0);
    fill(Y.data, states * m, 0.0);
    for (Index s = 0; s < states; ++s) {
        if (planner.full && model.features.projected != nullptr) {
            add_full_rows(problem, at, s, visits[s], dense);
        } else {
            add_each_row(problem, at, s, visits[s], dense);
        }
    }
    solve_columns(planner, at.valuation(), Z, tuning.bent_accuracy);
    fill(out.data, m * m, 0.0);
    for (Index i = 0; i < states * m; ++i) Y.data[i] *= model.discount;
    add_transposed_product(Y, Z, out);
    add_transposed_product(Z, Y, out);
    mirror(out);
}

void find_block_hessians(const Problem& problem, const Point& at, double* hessian) {
    const Objective& objective = problem.objective;
    const Features& features = problem.model.features;
    const FeasibleSet& set = problem.set;
    fill(hessian, set.num_squares, 0.0);
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k], begin = features.begin[i], end = features.begin[i + 1];
        if (begin == end) continue;
        const Block& block = set.blocks[set.block_of[features.coordinate[begin]]];
        double* own = hessian + block.first_square;
        const double weight = objective.counts[i] / (at.p[i] * at.p[i]);
        for (Index x = begin; x < end; ++x) {
            const Index a = set.place_of[features.coordinate[x]];
            for (Index z = begin; z < end; ++z) {
                const Index c = set.place_of[features.coordinate[z]];
                if (c <= a) own[a * block.num_coordinates + c] += weight * features.weight[x] * features.weight[z];
            }
        }
    }
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        double* own = hessian + block.first_square;
        for (Index a = 0; a < block.num_coordinates; ++a) own[a * block.num_coordinates + a] += objective.ridge;
    }
}

void reduce_hessian(const Block& block, const double* hessian, double* room, Matrix B) {
    const Index n = block.num_coordinates, m = block.num_free;
    const Matrix half{room, n, m};
    fill(half.data, n * m, 0.0);
    for (Index a = 0; a < n; ++a) {
        for (Index c = 0; c <= a; ++c) {
            const double value = hessian[a * n + c];
            if (value == 0.0) continue;
            add_scaled(value, block.basis + c * m, m, half[a]);
            if (c != a) add_scaled(value, block.basis + a * m, m, half[c]);
        }
    }
    fill(B.data, m * m, 0.0);
    for (Index a = 0; a < n; ++a) {
        for (Index i = 0; i < m; ++i) add_scaled(block.basis[a * m + i], half[a], i + 1, B[i]);
    }
    mirror(B);
}

}  // namespace vb
