// Planning at probabilities p, again and again: V* or V of a policy, by factors or by sweeps.
//
//     (T V)(s) = max_a  R(s,a) + gamma sum_s' p(s'|s,a) V(s')          V^pi = (I - gamma P_pi)^{-1} R_pi
//
// p is (transitions,), policy and V are (S,) throughout.
#pragma once

#include "common/arena.hpp"
#include "model/model.hpp"

namespace vb {

// The rows of gamma P_pi, copied together so that sweeps read memory in order.
struct Chain {
    View<std::int32_t> end;        // (S,) where the row of a state ends; it begins where the last one ended
    View<std::int32_t> successor;  // up to the most transitions that a policy can have
    Vector weight;                 // gamma p
};

struct Planner {
    const Model* model = nullptr;
    Matrix lu;      // (S, S) factors of I - gamma P_pi for the last policy evaluated; empty where sweeps are used
    Vector Q;       // (pairs,)
    Vector reward;  // (pairs,) R(s,a) at p where rewards depend on the next state, else empty
    Vector next;    // (S,) scratch
    Vector rest;    // (S,) scratch
    Vector gain;    // (S,) scratch
    Chain chain;

    bool factors() const { return !lu.empty(); }
};

// `factors`: whether policies are evaluated by dense factors, (S, S); otherwise by sweeps.
Planner make_planner(Arena& arena, const Model& model, bool factors);

// V* and its policy, from the policy given (and, by sweeps, from the V given); returns the error of V.
double optimal_value(Planner& planner, const double* p, Index* policy, double* V);

// V of the policy as it is.
void held_value(Planner& planner, const double* p, const Index* policy, double* V);

// w = (I - gamma P_pi')^{-1} e_state: the discounted visits from the state on. With factors, those of the last policy
// evaluated.
void occupancy(Planner& planner, const double* p, const Index* policy, Index state, double* w);

// Every column of X becomes (I - gamma P_pi)^{-1} x: by the factors at hand, or by sweeps to a relative accuracy.
void solve_columns(Planner& planner, const double* p, const Index* policy, Matrix X, double accuracy);

// The error of values and visits where sweeps compute them; no less than rounding allows.
double sweep_precision(double discount);

}  // namespace vb
