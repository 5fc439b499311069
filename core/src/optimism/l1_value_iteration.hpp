// Extended value iteration over L1 balls (UCRL2: Jaksch, Ortner and Auer 2010), discounted.
//
//     (T V)(s) = max_a max_p  sum_y p(y) [r(s,a) or r(s,a,y)] + gamma sum_y p(y) V(y),
//                p on the successors of (s, a) with |p - estimate(.|s,a)|_1 <= radius(s, a)
//
// Between two sweeps the policy and the models at hand are held and solved for, where dense factors pay: policy iteration
// over actions and models together, whose rounds do not grow with 1/(1-gamma). Elsewhere each sweep is shifted to the
// upper of MacQueen's bounds, so that the error falls as values settle relative to each other.
#pragma once

#include "common/arena.hpp"
#include "common/status.hpp"
#include "model/model.hpp"
#include "optimism/l1_ball.hpp"

namespace vb {

struct L1Optimist {
    const Model* model = nullptr;
    Vector V;        // (S,)
    Indices policy;  // (S,) the lowest action among equals
    Vector next;     // (S,) scratch
    Matrix lu;       // (S, S) factors of the policy held, or empty where sweeps are cheaper
    RankedSuccessors successors;  // (transitions,) of all pairs
    double error_bound = kInfinity;
    Index sweeps = 0;
    Status status = Status::no_start;
};

L1Optimist make_l1_optimist(Arena& arena, const Model& model);

// When to stop.
struct L1Limits {
    double tolerance;  // the error of V that is asked for
    Index most;        // sweeps
};

// From V = 1/(1-gamma). V ends as an upper bound, whenever it ends: within error_bound, the tolerance unless sweeps run
// out. estimate (transitions,) are distributions, radius is (pairs,).
void plan_in_l1_balls(L1Optimist& optimist, const double* estimate, const double* radius, L1Limits limits);

}  // namespace vb
