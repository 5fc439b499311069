// An upper bound on the concave part of the objective over a simplex.
//
//     h(lambda) = sum_i n_i log p_i - ridge/2 |theta|^2 + bias * sum_v lambda_v V_v(state),
//
// theta and p being those of the point with barycentric coordinates lambda, is maximised by pairwise Frank-Wolfe steps:
// weight moves from the vertex of least slope to that of greatest. At any lambda its tangent bounds it everywhere.
#pragma once

#include "certifying/vertices.hpp"

namespace vb {

struct ConcaveBoundWork {
    Index corners = 0;
    Vector weights, slope;   // (corners,) lambda, and the gradient of h in it
    Vector mix;              // (d,) theta at lambda
    Vector counts;           // (observed,) n
    Vector seen;             // (corners, observed) probabilities at the vertices
    Vector q;                // (observed,) probabilities at lambda
    Vector rate;             // (observed,) n / q
    Vector change;           // (observed,) of q along a step
};

ConcaveBoundWork make_concave_bound_work(Arena& arena, const Problem& problem, Index corners);

// When the bound is good enough: with `extra` added to it, it is compared with `target`.
struct Decision {
    double extra = 0.0;
    double target = 0.0;
    double accuracy = 0.0;  // a gap that is small enough in any case
};

// The bound; minus infinity where an observed transition has probability 0 in the whole simplex.
double concave_bound(const Problem& problem, const Vertices& vertices, const Index* cell, Decision decision,
                     ConcaveBoundWork& work);

}  // namespace vb
