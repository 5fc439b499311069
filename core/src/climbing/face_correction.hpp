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

#include "climbing/workspace.hpp"

namespace vb {

// out = H v, with H the Hessian of V^pi(state) in theta.
void multiply_value_hessian(const Problem& problem, const Point& at, const double* v, double* out, Workspace& work);

// Adds to work.step what the curvature of the value asks for along the face, to a relative accuracy.
void correct_on_face(const Problem& problem, const Point& at, double accuracy, Workspace& work);

}  // namespace vb
