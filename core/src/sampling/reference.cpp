#include "sampling/reference.hpp"

#include "common/logarithm.hpp"
#include "common/tuning.hpp"
#include "linalg/triangular.hpp"

namespace vb {

namespace {

// gradient += columns' scale; the lower triangle of M += columns' diag(scale * rate) columns
void add_curvature(const Columns& columns, const double* rate, ReferenceWork& work, Matrix M) {
    const Index n = columns.rows;
    const double* scale = work.scale.data;
    double* scaled = work.scaled.data;
    for (Index j = 0; j < columns.count; ++j) {
        const double* column = columns[j];
        work.gradient[j] += dot(scale, column, n);
        for (Index i = 0; i < n; ++i) scaled[i] = scale[i] * column[i] * rate[i];
        for (Index k = 0; k <= j; ++k) M[j][k] += dot(scaled, columns[k], n);
    }
}

// The same for facets whose normals are kept by rows alone.
void add_curvature_by_rows(const Facets& facets, const double* rate, ReferenceWork& work, Matrix M) {
    for (Index i = 0; i < facets.count; ++i) {
        const double* normal = facets.normal(i);
        for (Index j = 0; j < facets.free; ++j) {
            const double value = work.scale[i] * normal[j];
            work.gradient[j] += value;
            add_scaled(value * rate[i], normal, j + 1, M[j]);
        }
    }
}

// Gradient, and minus the Hessian (its lower triangle in the factor's place), at the point that was measured.
void curvature(const BlockData& data, ReferenceWork& work) {
    const Facets& facets = data.block->facets;
    const Index m = data.block->num_free;
    const Matrix M = work.factor(m);
    fill(work.gradient.data, m, 0.0);
    fill(M.data, m * m, 0.0);
    double* rate = work.rate.data;
    for (Index k = 0; k < data.count; ++k) {
        rate[k] = 1.0 / data.p[k];
        work.scale[k] = data.weight[k] * rate[k];
    }
    add_curvature(data.axes(), rate, work, M);
    for (Index i = 0; i < facets.count; ++i) {
        rate[i] = 1.0 / data.slack[i];
        work.scale[i] = data.share[i] * rate[i];
    }
    if (facets.by_axis == nullptr) {
        add_curvature_by_rows(facets, rate, work, M);
    } else {
        add_curvature({facets.by_axis, facets.count, facets.free}, rate, work, M);
    }
}

// The function that is maximised, at a point that is measured; minus infinity on the boundary and outside.
double height(BlockData& data, const double* y) {
    measure(data, y);
    const double seen = weighted_log_sum(data.weight.data, data.p.data, data.count);
    if (seen == -kInfinity) return seen;
    return seen + weighted_log_sum(data.share, data.slack.data, data.block->facets.count);
}

// Goes from the reference along Newton's step, which stands in the gradient's place, as far as the height rises enough.
// False where it does not: then only rounding is left.
bool climb_along(BlockData& data, double* reference, double squared, double& f, ReferenceWork& work) {
    const Index m = data.block->num_free;
    double step = 1.0;
    for (Index k = 0; k < tuning.reference_halvings; ++k, step *= 0.5) {
        for (Index j = 0; j < m; ++j) work.there[j] = reference[j] + step * work.gradient[j];
        const double there = height(data, work.there.data);
        if (there > f + tuning.armijo * step * squared) {
            f = there;
            copy(work.there.data, m, reference);
            return true;
        }
    }
    height(data, reference);
    return false;
}

// Multiplies every share by the leverage of its facet, |L^{-1} normal / slack|^2.
void multiply_by_leverages(const BlockData& data, double* share, ReferenceWork& work) {
    const Facets& facets = data.block->facets;
    const Index m = facets.free;
    double* row = work.gradient.data;
    for (Index i = 0; i < facets.count; ++i) {
        for (Index j = 0; j < m; ++j) row[j] = facets.normal(i)[j] / data.slack[i];
        solve_lower(work.factor(m), row);
        share[i] *= dot(row, row, m);
    }
}

}  // namespace

ReferenceWork make_reference_work(Arena& arena, const Posterior& posterior) {
    const Index m = posterior.set->most_free;
    const Index longest = larger(posterior.most_seen, posterior.set->most_facets);
    ReferenceWork work;
    work.square = arena.take<double>(m * m);
    work.gradient = arena.take<double>(m);
    work.there = arena.take<double>(m);
    work.scale = arena.take_unfilled<double>(longest);
    work.rate = arena.take_unfilled<double>(longest);
    work.scaled = arena.take_unfilled<double>(longest);
    return work;
}

void refer(BlockData& data, double* reference, Index limit, ReferenceWork& work) {
    const Index m = data.block->num_free;
    double f = height(data, reference);
    for (Index k = 0; k < limit; ++k) {
        curvature(data, work);
        cholesky_with_floor(work.factor(m));
        solve_lower(work.factor(m), work.gradient.data);
        const double squared = dot(work.gradient.data, work.gradient.data, m);
        if (squared <= tuning.reference_enough) return;
        solve_lower_transposed(work.factor(m), work.gradient.data);
        if (!climb_along(data, reference, squared, f, work)) return;
    }
}

void share_out(Posterior& posterior, double* center, BlockData& data, ReferenceWork& work) {
    fill(posterior.share.data, posterior.share.size, 1.0);
    for (Index b = 0; b < posterior.set->num_blocks; ++b) {
        const Block& block = posterior.set->blocks[b];
        const Index count = block.facets.count;
        double* share = posterior.share.data + block.first_facet;
        if (block.num_free == 0) continue;
        look_at(posterior, b, nullptr, data);
        for (Index k = 0; k < tuning.reference_sharings; ++k) {
            refer(data, center + block.first_free, tuning.reference_sharing_steps, work);
            multiply_by_leverages(data, share, work);
        }
        const double least = tuning.reference_least_share * static_cast<double>(block.num_free) / static_cast<double>(count);
        for (Index i = 0; i < count; ++i) share[i] += least;
    }
}

}  // namespace vb
