// Hessians of the objective: of its concave part, and of the value for the policy in force.
//
//     minus the concave part:  sum_i n_i/p_i^2 phi_i phi_i' + ridge I
//     the value, pi held:      with X_k = d(R + gamma P V)/d y_k at fixed V, Z = (I - gamma P)^{-1} X and
//                              Y = sum_s w_s phi(.|s,pi):   H_jk = gamma (Y_j . Z_k + Y_k . Z_j)
//
// Products of the latter with one direction are in face_correction.hpp.
#pragma once

#include "climbing/objective.hpp"

namespace vb {

// For one block of dense features: the Hessians in y, and room.
struct DenseScratch {
    Matrix B;        // (free, free) curvature of the program
    Matrix concave;  // minus the Hessian of the part without value
    Matrix bent;     // the Hessian of V^pi(state)
    Matrix Z, Y;     // (S, free), with room beyond (product.hpp)
    Matrix scaled;   // (tuning.batch_observed, free) feature rows, weighted; the same
    Vector row;      // (free,)
};

DenseScratch make_dense_scratch(Arena& arena, const Model& model, const FeasibleSet& set);

// dense.concave, at a point where p is positive.
void find_concave_curvature(const Problem& problem, const Point& at, DenseScratch& dense);

// dense.bent, from the visits from the objective's state on.
void find_value_curvature(const Problem& problem, const Point& at, const double* visits, Planner& planner, DenseScratch& dense);

// out = phi_i in the coordinates y, where they are not kept; one block of dense features.
const double* projected(const Problem& problem, Index i, double* out);

// hessian = minus the Hessian of the concave part in theta for sparse features, flat lower triangles block by block.
void find_block_hessians(const Problem& problem, const Point& at, double* hessian);

// B = basis' H basis of one block, from the lower triangle of its Hessian; `room` is (coordinates, free).
void reduce_hessian(const Block& block, const double* hessian, double* room, Matrix B);

}  // namespace vb
