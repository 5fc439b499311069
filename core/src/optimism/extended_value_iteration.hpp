// Extended value iteration: the best policy in the best model of a confidence set (optimism).
//
//     V(s) = max_a max_theta  R_theta(s,a) + gamma <phi_V(s,a), theta>, theta in P, |theta - estimate|_Sigma <= radius,
//
// a model of its own for every pair (s, a). Two ways to the fixed point: policy iteration over actions and models
// together, which promises an error, or the published number of sweeps from 1/(1-gamma). Several ellipsoids mean their
// intersection. Where no theta of P lies within a radius the set is empty: then the theta of P nearest to that
// estimate is planned for, and the plan says so.
#pragma once

#include "optimism/best_models.hpp"
#include "planning/planner.hpp"

namespace vb {

// How a plan ended.
struct OptimisticPlan {
    double error_bound = kInfinity;  // of V
    double gap = kInfinity;          // the worst of an inner maximum in the last round
    double missed = kInfinity;       // the square distance of P from an estimate less radius^2, of the worst ellipsoid
    Index rounds = 0;                // choices of models
    Status status = Status::no_start;
    Status inner = Status::ok;       // how the first inner problem that failed in the last round did
    bool empty = false;              // no theta of P lies within some radius
};

// Plans again and again, each time from where the last plan ended.
struct Optimist {
    BestModels models;
    View<ConfidenceLayer*> layers;  // room for ellipsoids; models.layers are those in force
    PlaceWork place;
    Planner planner;
    Matrix lu;       // (S, S) of the policy, or empty where sweeps are used
    Vector p;        // (transitions,)
    Vector V;        // (S,)
    Indices policy;  // (S,)
    Vector theta;    // (d,) the point of P nearest to the estimate, of the ellipsoid that has least room
    Vector next;     // (S,) scratch
    OptimisticPlan plan;

    Valuation valuation() const { return {p.data, policy.data, V.data, lu}; }
};

Optimist make_optimist(Arena& arena, const Model& model, const FeasibleSet& set, Method method);

// Makes room for that many ellipsoids; what the first ones ended with is kept. False where memory has run out.
bool grow(Arena& arena, Index ellipsoids, Optimist& optimist);

// Places the ellipsoids: what no theta satisfies is said in plan.empty, what cannot be placed in plan.status.
void place_ellipsoids(View<const ConfidenceEllipsoid> given, Optimist& optimist);

// Policy iteration over actions and models together; V within plan.error_bound, which is the tolerance if it can be.
void plan_to_tolerance(Optimist& optimist, double tolerance);

// The published loop: V = 1/(1-gamma), then `sweeps` times the optimistic Bellman operator, clipped.
void plan_by_sweeps(Optimist& optimist, Index sweeps);

// The optimal policy and value at optimist.theta alone.
void plan_for_nearest(Optimist& optimist, double tolerance);

// The theta chosen for every pair, (pairs, d), where the set was not empty; in other blocks than the pair's, it is the
// nearest one's.
void chosen_thetas(const Optimist& optimist, double* out);

}  // namespace vb
