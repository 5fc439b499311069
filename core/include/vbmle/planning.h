/* Planning: on a model, and once for one that is fully known. The conventions are in vbmle.h. */
#ifndef VBMLE_PLANNING_H
#define VBMLE_PLANNING_H

#include "vbmle/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A planner on a model, with arrays of its own on which all of its functions work. V is a value of states, Q of pairs;
 * policies are actions by state, always allowed ones. gamma is the model's discount. */
typedef struct vb_planner vb_planner;

/* The arrays of a planner. They live as long as it does; write what is marked "in" before a call. */
typedef struct vb_planner_view {
    double* theta;      /* (d,) in: where vb_planner_assemble and vb_planner_floor take P */
    double* p;          /* (transitions,) in, or from vb_planner_assemble: probabilities */
    int64_t* policy;    /* (S,) in and out */
    double* V;          /* (S,) in and out: where iterations begin, and what they find */
    double* next;       /* (S,) out: T V */
    double* Q;          /* (S*A,) out */
    double* visits;     /* (S,) out: discounted visits */
    double* gradient;   /* (d,) out: of V*(state) in theta */
    double* error;      /* (1,) out: bounds |V - V*|, or |V - V^pi| for a policy that is evaluated */
    double* change;     /* (2,) out: the least and the greatest of T V - V */
} vb_planner_view;

/* Makes a planner. `factors`: 1 evaluates policies by dense factors, (S, S), exactly up to rounding; 0 by sweeps, to
 * 1e-11/(1-gamma). VB_BAD_ARGUMENT where a state has no allowed action. */
VB_API vb_status vb_planner_new(const vb_model* model, int32_t factors, vb_planner** planner);
VB_API void vb_planner_free(vb_planner* planner);
VB_API vb_status vb_planner_look(vb_planner* planner, vb_planner_view* arrays);

/* p = <phi, theta>. */
VB_API vb_status vb_planner_assemble(vb_planner* planner);

/* V* and its policy at p, from the policy at hand (by sweeps also from V): policy iteration, or modified policy iteration
 * to the precision of sweeps. Actions of the policy that are not allowed are replaced first. */
VB_API vb_status vb_planner_optimal(vb_planner* planner);

/* The same by sweeps to a tolerance on the error of V, with at most so many sweeps (then VB_OUT_OF_ITERATIONS). For
 * planners without factors. */
VB_API vb_status vb_planner_iterate(vb_planner* planner, double tolerance, int64_t most_sweeps);

/* V^pi of the policy at hand at p, by factors or to the precision of sweeps. */
VB_API vb_status vb_planner_evaluate(vb_planner* planner);

/* The same by sweeps from V on, to a tolerance. For planners without factors. */
VB_API vb_status vb_planner_evaluate_to(vb_planner* planner, double tolerance, int64_t most_sweeps);

/* next = T V at p, with Q, the greedy policy (the action in force stays where it ties) and `change`. */
VB_API vb_status vb_planner_sweep(vb_planner* planner);

/* Q for V at p, and the lowest action of each state that ties with the best to within 1e-12. */
VB_API vb_status vb_planner_settle(vb_planner* planner);

/* visits = (I - gamma P_pi')^{-1} e_state. With factors, for the policy that was evaluated last. */
VB_API vb_status vb_planner_visits(vb_planner* planner, int64_t state);

/* Every column of X, (S, columns), becomes (I - gamma P_pi)^{-1} x: by the factors of the policy that was evaluated last,
 * or by sweeps to that part of the largest it can be. */
VB_API vb_status vb_planner_solve(vb_planner* planner, double* X, int64_t columns, double accuracy);

/* The least any method must do at a theta: p at theta, V* from the policy at hand, the gradient of V*(state). */
VB_API vb_status vb_planner_floor(vb_planner* planner, int64_t state);

/* The first pair whose p is no distribution, or -1. */
VB_API int64_t vb_planner_broken_pair(const vb_planner* planner);

/* The error of V by sweeps that agents ask for: 1e-11/(1-gamma), or what rounding allows. */
VB_API double vb_sweep_precision(double discount);

/* The error of V below which sweeps can promise nothing, for rewards of at most this size. */
VB_API double vb_rounding_of_values(double discount, double largest_reward);

/* One model that is fully known. Either `P` or the pattern with `p` is given, the rest null. */
typedef struct vb_known_model {
    int64_t num_states;        /* S >= 1 */
    int64_t num_actions;       /* A >= 1 */
    double discount;           /* gamma in [0, 1) */
    const double* reward;      /* (S*A,) of any range; minus infinity for an action that is not allowed */
    const double* P;           /* (S*A, S) by rows */
    int64_t num_transitions;   /* of the pattern, below 2^31 */
    const void* pair_begin;    /* (S*A + 1,) transitions of a pair; there may be none for an action that is not allowed */
    const void* successor;     /* (transitions,) */
    int64_t index_bytes;       /* 4 or 8: the pattern is int32_t or int64_t */
    const double* p;           /* (transitions,) */
} vb_known_model;

/* The plan for it. */
typedef struct vb_known_plan {
    double* V;            /* (S,) */
    double* Q;            /* (S*A,) */
    int64_t* policy;      /* (S,) */
    double error_bound;   /* of V, and of Q */
    int64_t broken_pair;  /* the first pair that is no distribution, or -1 */
    double least_reward;  /* of all pairs: minus infinity where an action is not allowed */
} vb_known_plan;

/* V, Q and the policy to within a tolerance > 0. VB_OUT_OF_ITERATIONS where the error bound is above it;
 * VB_BAD_ARGUMENT where a pair is no distribution, or the model is none. */
VB_API vb_status vb_plan_known(const vb_known_model* model, double tolerance, vb_known_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
