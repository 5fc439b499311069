#include "optimism/vertex.hpp"

#include <algorithm>

namespace vb {

namespace {

// Gaussian elimination with pivoting: the triangle and the right side of the equations; false where they are singular.
bool eliminate(Matrix equations) {
    const Index m = equations.rows;
    for (Index k = 0; k < m; ++k) {
        Index pivot = k;
        for (Index i = k + 1; i < m; ++i) {
            if (vb::fabs(equations[i][k]) > vb::fabs(equations[pivot][k])) pivot = i;
        }
        double *own = equations[k], *other = equations[pivot];
        if (!(vb::fabs(other[k]) > 1e-14)) return false;  // normals have length 1
        if (pivot != k) std::swap_ranges(own + k, own + m + 1, other + k);
        const double inverse = 1.0 / own[k];
        for (Index i = k + 1; i < m; ++i) {
            const double factor = equations[i][k] * inverse;
            if (factor != 0.0) add_scaled(-factor, own + k + 1, m - k, equations[i] + k + 1);
        }
    }
    return true;
}

// N' lambda = -c; false where some lambda is negative.
bool solve_multipliers(const SupportProblem& problem, const Index* active, VertexWork& work) {
    const Index m = problem.facets.free;
    const Matrix equations{work.equations.data, m, m + 1};
    for (Index i = 0; i < m; ++i) {
        const double* normal = problem.facets.normal(active[i]);
        for (Index j = 0; j < m; ++j) equations[j][i] = normal[j];
    }
    for (Index j = 0; j < m; ++j) equations[j][m] = -problem.c[j];
    if (!eliminate(equations)) return false;
    double* lambda = work.lambda.data;
    for (Index k = m - 1; k >= 0; --k) {
        lambda[k] = (equations[k][m] - dot(equations[k] + k + 1, lambda + k + 1, m - k - 1)) / equations[k][k];
        if (!(lambda[k] >= 0.0)) return false;
    }
    return true;
}

}  // namespace

VertexWork make_vertex_work(Arena& arena, Index most_free) {
    VertexWork work;
    work.equations = arena.matrix(most_free, most_free + 1);
    work.lambda = arena.take<double>(most_free);
    work.rest = arena.take<double>(most_free);
    return work;
}

double vertex_gap(const SupportProblem& problem, const Index* active, const double* y, VertexWork& work) {
    const Ellipsoid& ellipsoid = problem.ellipsoid;
    const Facets& facets = problem.facets;
    double *rest = work.rest.data, raised = 0.0;
    if (excess(ellipsoid, y, rest) > 0.0 || !solve_multipliers(problem, active, work)) return kInfinity;
    copy(problem.c, facets.free, rest);
    for (Index i = 0; i < facets.free; ++i) {
        raised += work.lambda[i] * facets.value(active[i], facets.offsets, y);
        add_scaled(work.lambda[i], facets.normal(active[i]), facets.free, rest);
    }
    return larger(raised, 0.0) + 2.0 * vb::sqrt(ellipsoid.room * square_length(ellipsoid.root, rest));
}

}  // namespace vb
