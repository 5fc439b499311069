// The largest <c, y> over the facets of a block within several ellipsoids at once.
//
//     maximise <c, y>   subject to   |y - middle_l|^2 in H_l <= room_l  for all l,   normals y + offsets >= 0
//
// by its dual in the ellipsoids: for weights mu >= 0, y(mu) maximises the concave quadratic
//
//     g(mu) = max over facets of  <c, y> + 1/2 sum_l mu_l (room_l - |y - middle_l|^2 in H_l),
//
// and g, which bounds the maximum from above for every mu, is convex with gradient -1/2 (|y - middle_l|^2 - room_l). On
// the active facets at hand it is smooth, and Newton's method with projection and backtracking ends in a few steps.
#pragma once

#include "common/arena.hpp"
#include "optimism/ellipsoid.hpp"

namespace vb {

struct IntersectionProblem {
    const double* c;                  // (m,)
    View<const Ellipsoid> ellipsoids;
    const Facets& facets;
};

// The dual at one mu.
struct DualPoint {
    Vector mu;      // (ellipsoids,)
    Vector excess;  // (ellipsoids,) of each ellipsoid at y
    Matrix pull;    // (ellipsoids, m) H_l (y - middle_l)
    Vector y;       // (m,)
    double g = 0.0;
};

struct IntersectionWork {
    DualPoint here, trial;
    Vector step;       // (ellipsoids,)
    Indices chosen;    // (ellipsoids,) whose weights Newton's step changes
    Matrix along;      // (ellipsoids, m) pull in the directions of the face
    Matrix curvature;  // (ellipsoids, ellipsoids)
    Matrix lower;      // (ellipsoids, ellipsoids)
    Vector solution;   // (ellipsoids,)
    Matrix B;          // (m, m)
    Vector target;     // (m,)
    Vector multiplier; // (m + 1,)
    Indices active;    // (m,)
    Index num_active = 0;
    Frame frame;       // of the last program
};

IntersectionWork make_intersection_work(Arena& arena, Index ellipsoids, Index most_free);

// Starts at the weights work.here.mu, at least one above 0, and ends with the maximiser in work.here.y: the maximum is
// at most <c, y> + the gap that is returned, which is infinite where no common point was found.
double intersect(const IntersectionProblem& problem, IntersectionWork& work, QpWork& qp);

}  // namespace vb
