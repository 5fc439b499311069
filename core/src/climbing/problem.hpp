// What is climbed, and where one stands.
//
//     f(theta) = sum_i n_i log p_i - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta)      over P
#pragma once

#include "common/status.hpp"
#include "linalg/quadratic_program.hpp"
#include "model/counts.hpp"
#include "planning/planner.hpp"

namespace vb {

struct Objective {
    const double* counts = nullptr;    // (transitions,) n
    const Index* observed = nullptr;   // the transitions with counts
    Index num_observed = 0;
    const double* linear = nullptr;    // (d,), or null for none
    double ridge = 0.0;
    double bias = 0.0;
    Index state = 0;
    bool held = false;  // V is that of the policy at hand instead of the optimal one
};

struct Problem {
    const Model& model;
    const FeasibleSet& set;
    Objective objective;
};

// Everything at one theta. `evaluated`: p, policy, V and lu belong to theta.
struct Point {
    double* y = nullptr;          // (free,)
    double* theta = nullptr;      // (d,)
    double* p = nullptr;          // (transitions,)
    Index* policy = nullptr;      // (S,)
    double* V = nullptr;          // (S,)
    Matrix lu;                    // (S, S) factors of I - gamma P_pi, or empty where sweeps are used
    Index* active = nullptr;      // (free,) facets that the last program ended on, block by block
    Index* num_active = nullptr;  // (blocks,)
    Frame frame;                  // what the last program left; of one block of dense features
    bool evaluated = false;
    bool factored = false;        // `frame` belongs to the active facets
    bool keeps_frame = false;     // it stays with the point from climb to climb

    Valuation valuation() const { return {p, policy, V, lu}; }
};

}  // namespace vb
