// Whether a vertex of P is still the best point of an ellipsoid: what most problems of an optimistic plan ask.
//
// Let y be a vertex inside the ellipsoid, N the normals of m facets that are active there, and lambda the solution of
// N' lambda = -c. Where lambda >= 0, any point z of P within the ellipsoid has
//
//     <c, z - y> = -lambda' N (z - y) + <r, z - y> <= lambda' v + 2 |r| sqrt(room),      r = c + N' lambda,
//
// v being what the facets have at y, and |r| the length of r in H^{-1}. Both terms are rounding alone.
#pragma once

#include "optimism/ellipsoid.hpp"

namespace vb {

struct VertexWork {
    Matrix equations;  // (m, m + 1) N' and -c
    Vector lambda;     // (m,)
    Vector rest;       // (m,)
};

VertexWork make_vertex_work(Arena& arena, Index most_free);

// What a point of the ellipsoid may have above the vertex y with the active facets active[:m], at most; infinite where
// that cannot be told.
double vertex_gap(const SupportProblem& problem, const Index* active, const double* y, VertexWork& work);

}  // namespace vb
