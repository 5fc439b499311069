// The value's curvature for product sets: conjugate gradients along the face, from products alone.
//
// For a tabular model the Hessian of V* couples all blocks, and no dense matrix of that size may appear. But its
// product with a direction v costs two solves with factors that are there already. With x(s) = sum_s' dp(s')
// (r + gamma V(s')) for dp = <phi, v> on the transitions of the policy,
//
//     dV = (I - gamma P)^{-1} x,      dw = (I - gamma P')^{-1} gamma dP' w,
//     H v = sum_s sum_s' phi(s'|s,pi) (gamma w(s) dV(s') + dw(s) (r + gamma V(s'))).
//
// The block programs give a step d and, for each block, K = Z (Z' B Z)^{-1} Z' for the face on which d ends; K
// preconditions conjugate gradients for the correction of d that the value's curvature asks for.
#pragma once

#include "climbing/objective.hpp"

namespace vb {

// For products of the curvature with one direction.
struct DirectionScratch {
    Vector along, curved;  // (d,)
    Vector dV, dw;         // (S,)
    Vector row;            // (free,)
};

DirectionScratch make_direction_scratch(Arena& arena, const Model& model, const FeasibleSet& set);

// A place where derivatives are taken: a point, evaluated by factors, and the visits from the objective's state on.
struct Place {
    const Problem& problem;
    const Point& at;
    const double* visits;
};

// out = H v, with H the Hessian of V^pi(state) in theta.
void multiply_value_hessian(const Place& place, const double* v, double* out, DirectionScratch& room);

// out = B v in y, with B minus the Hessian of f for the policy in force; for one block of dense features.
void multiply_curvature(const Place& place, const double* v, double* out, DirectionScratch& room);

// For the steps of product sets: what block programs leave, and room.
struct ProductScratch {
    Vector hessian;  // flat (coordinates, coordinates) blocks, lower triangles
    Matrix half;     // (most coordinates, most free)
    Vector last;     // (free,) the gradient of the last step
    Vector concave;  // flat (free, free) blocks B
    Vector inverse;  // flat (free, free) blocks K
    Vector residual, preconditioned, search, image, correction;  // (free,)
    Indices touched;         // (blocks,)
    View<std::uint8_t> met;  // (blocks,)
};

ProductScratch make_product_scratch(Arena& arena, const FeasibleSet& set);

// Adds to a step, (free,), what the curvature of the value asks for along the face, to a relative accuracy.
void correct_on_face(const Place& place, double accuracy, ProductScratch& product, DirectionScratch& room, double* step);

}  // namespace vb
