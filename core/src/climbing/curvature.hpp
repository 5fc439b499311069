// Hessians of the objective: of its concave part, and of the value for the policy in force.
//
//     minus the concave part:  sum_i n_i/p_i^2 phi_i phi_i' + ridge I
//     the value, pi held:      with X_k = d(R + gamma P V)/d y_k at fixed V, Z = (I - gamma P)^{-1} X and
//                              Y = sum_s w_s phi(.|s,pi):   H_jk = gamma (Y_j . Z_k + Y_k . Z_j)
#pragma once

#include "climbing/workspace.hpp"

namespace vb {

// work.dense.concave = minus the Hessian of the concave part in y, for one block of dense features.
void find_concave_curvature(const Problem& problem, const Point& at, Workspace& work);

// work.dense.bent = the Hessian of V^pi(state) in y, for one block of dense features.
void find_value_curvature(const Problem& problem, const Point& at, Workspace& work);

// out = B v, with B minus the Hessian of f in y for the policy in force; for one block of dense features, with factors.
void multiply_curvature(const Problem& problem, const Point& at, const double* v, double* out, Workspace& work);

// work.product.hessian = minus the Hessian of the concave part in theta for sparse features, block by block.
void find_block_hessians(const Problem& problem, const Point& at, Workspace& work);

// B = basis' H basis of one block, from the lower triangle of its Hessian.
void reduce_hessian(const Block& block, ProductWork& work, Matrix B);

}  // namespace vb
