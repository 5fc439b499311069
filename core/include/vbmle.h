/* The C interface of the vbmle core, and its manual.
 *
 * Conventions. S states, A actions, d the dimension of theta; a pair is (s, a), numbered s * A + a; a transition is one
 * possible (s, a, s'), numbered in the order of pairs; a facet is one inequality of the feasible set; free coordinates
 * are the coordinates y of the feasible set. Arrays are contiguous, matrices by rows, numbers are double, indices
 * int64_t. Values and rewards are in the model's own unit (rewards in [0, 1]).
 *
 * A handle owns its memory and is freed by the function of its name that ends in _free. Handles made on a model use
 * it and must go first. A handle may be used by one thread at a time; a model is constant, and any number of threads may
 * use handles that were made on it. Functions return a status, or say what else; sizes and ranges are checked here.
 */
#ifndef VBMLE_H
#define VBMLE_H

#include <stdint.h>

#if defined(_WIN32)
#define VB_API __declspec(dllexport)
#else
#define VB_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses -------------------------------------------------------------------------------------------------- */

typedef int32_t vb_status;

#define VB_OK 0                  /* done; a solver: converged */
#define VB_STALLED 1             /* the objective no longer rises beyond rounding */
#define VB_NO_STEP 2             /* no direction of ascent was found */
#define VB_LINE_SEARCH_FAILED 3  /* the objective rises along no step of the direction */
#define VB_OUT_OF_ITERATIONS 4   /* the limit of iterations was reached */
#define VB_NO_START 5            /* no feasible point has a finite objective */
#define VB_NOT_CONVEX 6          /* a quadratic program is not strictly convex */
#define VB_INFEASIBLE 7          /* inequalities contradict each other */
#define VB_OUT_OF_MEMORY 20      /* memory has run out; nothing was made */
#define VB_BAD_ARGUMENT 21       /* a size, an index or a number is out of range; nothing was done */

/* ---- Models ---------------------------------------------------------------------------------------------------- */

/* What a model is made from. The arrays marked "kept" are not copied: they must live, unchanged, as long as the model. */
typedef struct vb_model_data {
    int64_t num_states;       /* S >= 1 */
    int64_t num_actions;      /* A >= 1 */
    int64_t num_transitions;  /* possible (s, a, s') */
    int64_t dimension;        /* d >= 1 */
    double discount;          /* gamma in [0, 1) */
    const int64_t* pair_begin;   /* (S*A + 1,) kept: transitions of a pair */
    const int64_t* successor;    /* (transitions,) the next state; may be empty rows for actions that are not allowed */
    const double* reward;        /* (S*A,) kept: minus infinity for an action that is not allowed */
    const double* reward_next;   /* (transitions,) kept: r(s,a,s'), or null */
    const double* phi;           /* (transitions, d) kept: dense features, or null */
    const int64_t* feature_begin;       /* (transitions + 1,) kept: sparse features, or null */
    const int64_t* feature_coordinate;  /* kept: entries of theta */
    const double* feature_weight;       /* kept */
    int64_t num_blocks;          /* blocks of the feasible set; dense features need one */
    const double* center;        /* (d,) kept: an interior point */
    const int64_t* coordinates;  /* (d,) kept: entries of theta, block after block */
    const int64_t* coordinate_begin;  /* (blocks + 1,) into coordinates */
    const double* basis;         /* kept: blocks of (coordinates, free), one after another */
    const int64_t* free_begin;   /* (blocks + 1,) into y */
    const double* normals;       /* kept: blocks of (facets, free), one after another */
    const double* offsets;       /* (facets,) kept */
    const int64_t* facet_begin;  /* (blocks + 1,) into offsets */
    const double* diameter;      /* (blocks,) bounds on the distance of two points of a block */
} vb_model_data;

typedef struct vb_model vb_model;

/* Makes a model; `*model` is null unless VB_OK is returned. */
VB_API vb_status vb_model_new(const vb_model_data* data, vb_model** model);
VB_API void vb_model_free(vb_model* model);

/* p = <phi, theta> for every transition: theta (d,), p (transitions,). */
VB_API vb_status vb_model_probabilities(const vb_model* model, const double* theta, double* p);

/* theta = center + basis y: y (free,), theta (d,). */
VB_API vb_status vb_model_assemble(const vb_model* model, const double* y, double* theta);

/* The y of a theta, moved inside the feasible set where theta is outside. */
VB_API vb_status vb_model_place(const vb_model* model, const double* theta, double* y);

/* ---- Planning -------------------------------------------------------------------------------------------------- */

/* A planner on a model, with arrays of its own on which all of its functions work. V is a value of states, Q of pairs;
 * policies are actions by state, always allowed ones. gamma is the model's discount. */
typedef struct vb_planner vb_planner;

/* The arrays of a planner. They live as long as it does; write what is marked "in" before a call. */
typedef struct vb_planner_arrays {
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
} vb_planner_arrays;

/* Makes a planner. `factors`: 1 evaluates policies by dense factors, (S, S), exactly up to rounding; 0 by sweeps, to
 * 1e-11/(1-gamma). VB_BAD_ARGUMENT where a state has no allowed action. */
VB_API vb_status vb_planner_new(const vb_model* model, int32_t factors, vb_planner** planner);
VB_API void vb_planner_free(vb_planner* planner);
VB_API vb_status vb_planner_look(vb_planner* planner, vb_planner_arrays* arrays);

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
} vb_known_plan;

/* V, Q and the policy to within a tolerance > 0. VB_OUT_OF_ITERATIONS where the error bound is above it;
 * VB_BAD_ARGUMENT where a pair is no distribution, or the model is none. */
VB_API vb_status vb_plan_known(const vb_known_model* model, double tolerance, vb_known_plan* plan);

/* ---- Likelihood and value: counts, the solver ------------------------------------------------------------------- */

/* How often each transition was seen. */
typedef struct vb_counts vb_counts;

/* Empty counts; possible (transitions,): whether some feasible theta allows a transition. */
VB_API vb_status vb_counts_new(const vb_model* model, const uint8_t* possible, vb_counts** counts);
VB_API void vb_counts_free(vb_counts* counts);

/* Counts (s, a, s') that many times and returns the transition's number, or one of the following; then nothing is
 * counted. */
VB_API int64_t vb_counts_add(vb_counts* counts, int64_t state, int64_t action, int64_t next_state, int64_t times);
#define VB_BAD_STATE (-1)      /* the state is out of range */
#define VB_BAD_ACTION (-2)     /* the action is out of range */
#define VB_BAD_NEXT_STATE (-3) /* the next state is out of range */
#define VB_IMPOSSIBLE (-4)     /* no feasible theta allows the transition */

/* Replaces all counts: values (transitions,) finite and not negative, observed (num_observed,) exactly those above 0. */
VB_API vb_status vb_counts_load(vb_counts* counts, const double* values, const int64_t* observed, int64_t num_observed);

typedef struct vb_counts_view {
    double* values;        /* (transitions,) */
    int64_t* observed;     /* (transitions,), of which the first num_observed count */
    int64_t num_observed;  /* transitions seen at least once */
    int64_t total;         /* transitions added */
} vb_counts_view;

/* Where the counts lie, and how many there are now. */
VB_API void vb_counts_fields(vb_counts* counts, vb_counts_view* view);

/* sum n log p - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta) */
typedef struct vb_objective {
    vb_counts* counts;     /* n */
    const double* linear;  /* (d,), or null */
    double ridge;          /* >= 0 */
    double bias;           /* >= 0 */
    int64_t state;         /* where the value counts */
} vb_objective;

/* A maximiser over the feasible set. It keeps its local maxima from one call to the next. */
typedef struct vb_solver vb_solver;

/* A solver for up to `places` local maxima; factors: evaluate policies by dense factors, else by sweeps. */
VB_API vb_status vb_solver_new(const vb_model* model, int64_t places, int32_t factors, vb_solver** solver);
VB_API void vb_solver_free(vb_solver* solver);

typedef struct vb_starts {
    const double* fixed;   /* (num_fixed, free) points y to start from */
    int64_t num_fixed;
    const double* best;    /* (free,) the y that is best for the controller everywhere, or null */
    const int64_t* pairs;  /* (num_pairs,) pairs in the order in which they are tried */
    int64_t num_pairs;
} vb_starts;

/* Where searches start from; copied. To be called once, before the first search. */
VB_API vb_status vb_solver_set_starts(vb_solver* solver, const vb_starts* starts);

/* Each of these maximises and returns how the incumbent's last climb ended (VB_OK to VB_NO_START), or VB_BAD_ARGUMENT. */
VB_API vb_status vb_solver_climb(vb_solver* solver, const vb_objective* objective);  /* from where it stands */
VB_API vb_status vb_solver_search(vb_solver* solver, const vb_objective* objective); /* from everywhere */
VB_API vb_status vb_solver_follow(vb_solver* solver, const vb_objective* objective); /* from its maxima and one start more */
VB_API vb_status vb_solver_climb_from_few(vb_solver* solver, const vb_objective* objective); /* and from two starts */
VB_API vb_status vb_solver_add_start(vb_solver* solver, const vb_objective* objective, const double* theta); /* from theta, too */

/* Stands at theta (d,) alone, moved inside the feasible set. */
VB_API void vb_solver_stand_at(vb_solver* solver, const double* theta);

/* Makes the incumbent's policy and V optimal for its theta. */
VB_API void vb_solver_plan(vb_solver* solver);

/* Where the maxima lie. Row 0 is the incumbent, the last row scratch; rows = places + 1. */
typedef struct vb_solver_view {
    double* y;            /* (rows, free) */
    double* theta;        /* (rows, d) */
    double* V;            /* (rows, S) */
    int64_t* policy;      /* (rows, S) */
    int64_t* active;      /* (rows, free) facets on which the last program ended, block by block */
    int64_t* num_active;  /* (rows, blocks) */
    double* result;       /* (rows, 3) objective, relative KKT residual, gap */
    int32_t* status;      /* (rows,) how the last climb ended */
    int32_t* iterations;  /* (rows,) of the last climb */
    uint8_t* evaluated;   /* (rows,) whether V and policy belong to theta */
    int64_t size;         /* maxima held */
    int64_t turn;         /* how often it has followed */
} vb_solver_view;
VB_API void vb_solver_fields(vb_solver* solver, vb_solver_view* view);

/* Takes over what was written into the fields, after checking it; theta, and all that follows from it, is recomputed. */
VB_API vb_status vb_solver_restore(vb_solver* solver, int64_t size, int64_t turn);

/* ---- Certificates ---------------------------------------------------------------------------------------------- */

/* ---- Linear programs over facets -------------------------------------------------------------------------------- */

/* ---- Optimistic plans ------------------------------------------------------------------------------------------- */

/* ---- Sampling -------------------------------------------------------------------------------------------------- */

/* ---- Tabular: reward-biased rows -------------------------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif

#endif
