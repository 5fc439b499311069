#include "climbing/curvature.hpp"

namespace vb {

namespace {

constexpr double kAccuracy = 1e-7;  // of the value's curvature where sweeps compute it

// out = phi_i in the coordinates y, where they are not kept.
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

// B += X X' for X of (m, count), its lower triangle: two by four entries at a time, each a long sum.
void add_products(Matrix X, Index count, Matrix B) {
    const Index m = X.rows;
    Index a = 0;
    for (; a + 1 < m; a += 2) {
        const double *x = X[a], *y = X[a + 1];
        Index c = 0;
        for (; c + 3 <= a + 1 && c + 3 < m; c += 4) {
            double s[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            const double *p = X[c], *q = X[c + 1], *r = X[c + 2], *t = X[c + 3];
            for (Index k = 0; k < count; ++k) {
                s[0] += x[k] * p[k];
                s[1] += x[k] * q[k];
                s[2] += x[k] * r[k];
                s[3] += x[k] * t[k];
                s[4] += y[k] * p[k];
                s[5] += y[k] * q[k];
                s[6] += y[k] * r[k];
                s[7] += y[k] * t[k];
            }
            for (Index j = 0; j < 4; ++j) {
                if (c + j <= a) B[a][c + j] += s[j];
                B[a + 1][c + j] += s[4 + j];
            }
        }
        for (; c <= a + 1; ++c) {
            if (c <= a) B[a][c] += dot(x, X[c], count);
            B[a + 1][c] += dot(y, X[c], count);
        }
    }
    for (; a < m; ++a) {
        for (Index c = 0; c <= a; ++c) B[a][c] += dot(X[a], X[c], count);
    }
}

void mirror(Matrix B) {
    for (Index a = 0; a < B.rows; ++a) {
        for (Index c = 0; c < a; ++c) B[c][a] = B[a][c];
    }
}

}  // namespace

void find_concave_curvature(const Problem& problem, const Point& at, Workspace& work) {
    const Objective& objective = problem.objective;
    const Index m = problem.set.num_free;
    Matrix B = work.dense.concave, scaled = work.dense.scaled;
    fill(B.data, m * m, 0.0);
    for (Index first = 0; first < objective.num_observed; first += kChunk) {
        const Index count = objective.num_observed - first < kChunk ? objective.num_observed - first : kChunk;
        for (Index k = 0; k < count; ++k) {
            const Index i = objective.observed[first + k];
            const double weight = vb::sqrt(objective.counts[i]) / at.p[i];
            const double* phi = projected(problem, i, work.dense.row.data);
            for (Index a = 0; a < m; ++a) scaled[a][k] = weight * phi[a];
        }
        add_products(scaled, count, B);
    }
    for (Index a = 0; a < m; ++a) B[a][a] += objective.ridge;
    mirror(B);
}

void find_value_curvature(const Problem& problem, const Point& at, Workspace& work) {
    const Model& model = problem.model;
    const Index m = problem.set.num_free, states = model.num_states;
    Matrix Z = work.dense.Z, Y = work.dense.Y, out = work.dense.bent;
    fill(Z.data, states * m, 0.0);
    fill(Y.data, states * m, 0.0);
    for (Index s = 0; s < states; ++s) {
        const Index pair = model.pair(s, at.policy[s]);
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            const double* phi = projected(problem, i, work.dense.row.data);
            add_scaled(model.gain(i, at.V), phi, m, Z[s]);
            add_scaled(work.visits[s], phi, m, Y[model.successor[i]]);
        }
    }
    work.planner.lu = at.lu;
    solve_columns(work.planner, at.p, at.policy, Z, kAccuracy);
    fill(out.data, m * m, 0.0);
    for (Index s = 0; s < states; ++s) {
        for (Index j = 0; j < m; ++j) {
            const double y = model.discount * Y[s][j], z = model.discount * Z[s][j];
            for (Index k = 0; k <= j; ++k) out[j][k] += y * Z[s][k] + z * Y[s][k];
        }
    }
    mirror(out);
}

void find_block_hessians(const Problem& problem, const Point& at, Workspace& work) {
    const Objective& objective = problem.objective;
    const Features& features = problem.model.features;
    const FeasibleSet& set = problem.set;
    double* hessian = work.product.hessian.data;
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

void reduce_hessian(const Block& block, ProductWork& work, Matrix B) {
    const Index n = block.num_coordinates, m = block.num_free;
    const double* hessian = work.hessian.data + block.first_square;
    Matrix half{work.half.data, n, m};
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
