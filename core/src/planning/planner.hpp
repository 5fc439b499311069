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
#include "planning/direct.hpp"
#include "planning/method.hpp"

namespace vb {

// A policy and its value at p.
struct Valuation {
    const double* p = nullptr;
    Index* policy = nullptr;
    double* V = nullptr;
    Matrix lu;  // (S, S) factors of I - gamma P_pi for the policy that was evaluated last; empty where sweeps are used
};

struct Planner {
    const Model* model = nullptr;
    Method method = Method::factors;
    Vector Q;       // (pairs,)
    Vector reward;  // (pairs,) R(s,a) at p where rewards depend on the next state, else empty
    Vector next;    // (S,) scratch
    Vector rest;    // (S,) scratch
    Chain chain;    // of the policy at hand, for sweeps
    Contest contest;
    Direct direct;  // sparse factors of the same, where sweeps are slow
    Matrix spare;   // (kSpare, S) scratch for chains that mix slowly and for many columns; empty: both do without
    bool full = false;  // every pair leads to all states, in order: p is a (pairs, S) matrix, and no pattern is read

    // sum_s' p(s'|s,a) V(s')
    double ahead(const double* p, Index pair, const double* V) const {
        if (full) return long_dot(p + pair * model->num_states, V, model->num_states);
        return sum_of_products(p, model->successor, model->pair_begin[pair], model->pair_begin[pair + 1], V);
    }
    // Where the transitions of a pair are.
    Index begin(Index pair) const { return full ? pair * model->num_states : model->pair_begin[pair]; }
    bool factors() const { return method == Method::factors; }
};

inline constexpr Index kSpare = 12;  // three of kTogether columns, or what a slow chain needs

Planner make_planner(Arena& arena, const Model& model, Method method);

// Room for the factors of a policy; none where sweeps are used.
Matrix make_factors(Arena& arena, const Planner& planner);

// The same by sweeps, without the spare vectors: for one plan, which rarely needs them.
Planner make_lean_planner(Arena& arena, const Model& model);

// V* and its policy, from the policy given (and, by sweeps, from the V given); returns the error of V. Sweeps leave
// no more than `precision`.
double optimal_value(Planner& planner, const Valuation& at, double precision);

// V of the policy as it is; returns its error, as far as sweeps know it.
double held_value(Planner& planner, const Valuation& at, double precision);

// Discounted visits that are asked for.
struct Visits {
    Index state;        // where they begin
    double precision;   // the L1 error that sweeps may leave
    bool known = false; // by sweeps, they begin with what is there instead of nothing
};

// w = (I - gamma P_pi')^{-1} e_state. With factors, for the policy that they belong to.
void occupancy(Planner& planner, const Valuation& at, const Visits& wanted, double* w);

// Every column of X becomes (I - gamma P_pi)^{-1} x: by the factors at hand, or by sweeps to a relative accuracy.
void solve_columns(Planner& planner, const Valuation& at, Matrix X, double accuracy);

// The least error of values and visits that sweeps are asked for, and are unless a climb asks for less; no less than
// rounding allows.
double sweep_precision(double discount);

// The error of V below which sweeps can promise nothing: rounding of 1/(1-gamma), carried on indefinitely.
double rounding_of_values(double discount, const double* reward, Index pairs);

// The first action of each state that is allowed.
void first_allowed(const Model& model, Index* policy);

}  // namespace vb
