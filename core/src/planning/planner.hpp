// Planning at probabilities p, again and again: V* or V of a policy, by factors or by sweeps.
//
//     (T V)(s) = max_a  R(s,a) + gamma sum_s' p(s'|s,a) V(s')          V^pi = (I - gamma P_pi)^{-1} R_pi
//
// p is (transitions,), policy and V are (S,) throughout. A policy that is given takes allowed actions alone; those that
// are found do, too.
#pragma once

#include "common/arena.hpp"
#include "model/model.hpp"
#include "planning/chain.hpp"
#include "planning/contest.hpp"

namespace vb {

struct Planner {
    const Model* model = nullptr;
    Matrix lu;      // (S, S) factors of I - gamma P_pi for the last policy evaluated; empty where sweeps are used
    Vector Q;       // (pairs,)
    Vector reward;  // (pairs,) R(s,a) at p where rewards depend on the next state, else empty
    Vector next;    // (S,) scratch
    Vector rest;    // (S,) scratch
    Chain chain;    // of the policy at hand, for sweeps
    Contest contest;
    Matrix spare;   // (kSpare, S) scratch for chains that mix slowly and for many columns; empty: both do without
    double precision = 0.0;     // the error of values and visits that sweeps are to leave
    bool visits_known = false;  // by sweeps, visits begin with what is there instead of nothing
    bool full = false;  // every pair leads to all states, in order: p is a (pairs, S) matrix, and no pattern is read

    // sum_s' p(s'|s,a) V(s')
    double ahead(const double* p, Index pair, const double* V) const {
        if (full) return long_dot(p + pair * model->num_states, V, model->num_states);
        return sum_of_products(p, model->successor, model->pair_begin[pair], model->pair_begin[pair + 1], V);
    }
    // Where the transitions of a pair are.
    Index begin(Index pair) const { return full ? pair * model->num_states : model->pair_begin[pair]; }
    bool factors() const { return !lu.empty(); }
};

inline constexpr Index kSpare = 12;  // three of kTogether columns, or what a slow chain needs

// `factors`: whether policies are evaluated by dense factors, (S, S); otherwise by sweeps.
Planner make_planner(Arena& arena, const Model& model, bool factors);

// The same by sweeps, without the spare vectors: for one plan, which rarely needs them.
Planner make_lean_planner(Arena& arena, const Model& model);

// V* and its policy, from the policy given (and, by sweeps, from the V given); returns the error of V.
double optimal_value(Planner& planner, const double* p, Index* policy, double* V);

// V of the policy as it is; returns its error, as far as sweeps know it.
double held_value(Planner& planner, const double* p, const Index* policy, double* V);

// w = (I - gamma P_pi')^{-1} e_state: the discounted visits from the state on. With factors, those of the last policy
// evaluated.
void occupancy(Planner& planner, const double* p, const Index* policy, Index state, double* w);

// Every column of X becomes (I - gamma P_pi)^{-1} x: by the factors at hand, or by sweeps to a relative accuracy.
void solve_columns(Planner& planner, const double* p, const Index* policy, Matrix X, double accuracy);

// The least error of values and visits that sweeps are asked for, and are unless a climb asks for less; no less than
// rounding allows.
double sweep_precision(double discount);

// The error of V below which sweeps can promise nothing: rounding of 1/(1-gamma), carried on indefinitely.
double rounding_of_values(double discount, const double* reward, Index pairs);

// The first action of each state that is allowed.
void first_allowed(const Model& model, Index* policy);

}  // namespace vb
