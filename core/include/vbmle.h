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

/* ---- Statuses: below 20 how a computation ended, from 20 on a call that was refused ----------------------------- */

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

/* ---- The library ------------------------------------------------------------------------------------------------ */

/* The version of this interface: it goes up by one with every change that an older caller would not survive. */
#define VB_INTERFACE_VERSION 1

/* The VB_INTERFACE_VERSION that the library was built with. */
VB_API int32_t vb_version(void);

/* What a status means, in words that can end a sentence; the text belongs to the library and lives as long as it. */
VB_API const char* vb_status_text(vb_status status);

/* 1 if this processor and its operating system can run the library for wide vectors (x86-64-v3), else 0. */
VB_API int32_t vb_runs_wide(void);

/* ---- Models ---------------------------------------------------------------------------------------------------- */

/* What a model is made from. The arrays marked "kept" are not copied: they must live, unchanged, as long as the model. */
typedef struct vb_model_data {
    int64_t num_states;       /* S >= 1 */
    int64_t num_actions;      /* A >= 1 */
    int64_t num_transitions;  /* possible (s, a, s') */
    int64_t dimension;        /* d >= 1 */
    double discount;          /* gamma in [0, 1) */
    const int64_t* pair_begin;   /* (S*A + 1,) kept: transitions of a pair */
    const int64_t* successor;    /* (transitions,) the next state, rising within a pair */
    const double* reward;        /* (S*A,) kept: minus infinity for an action that is not allowed; every state has one that is */
    const double* reward_next;   /* (transitions,) kept: r(s,a,s'), or null */
    const double* phi;           /* (transitions, d) kept: dense features, or null */
    const int64_t* feature_begin;       /* (transitions + 1,) kept: sparse features, or null */
    const int64_t* feature_coordinate;  /* kept: entries of theta, those of one transition in one block */
    const double* feature_weight;       /* kept */
    int64_t num_blocks;          /* blocks of the feasible set; dense features need one */
    const double* center;        /* (d,) kept: an interior point */
    const int64_t* coordinates;  /* (d,) kept: entries of theta, block after block, each once */
    const int64_t* coordinate_begin;  /* (blocks + 1,) into coordinates */
    const double* basis;         /* kept: blocks of (coordinates, free), one after another */
    const int64_t* free_begin;   /* (blocks + 1,) into y */
    const double* normals;       /* kept: blocks of (facets, free), one after another */
    const double* offsets;       /* (facets,) kept */
    const int64_t* facet_begin;  /* (blocks + 1,) into offsets */
    const double* diameter;      /* (blocks,) bounds on the distance of two points of a block; > 0 where it has some free */
} vb_model_data;

typedef struct vb_model vb_model;

/* Makes a model; `*model` is null unless VB_OK is returned. */
VB_API vb_status vb_model_new(const vb_model_data* data, vb_model** model);
VB_API void vb_model_free(vb_model* model);

/* p = <phi, theta> for every transition: theta (d,), p (transitions,). */
VB_API vb_status vb_model_probabilities(const vb_model* model, const double* theta, double* p);

/* theta = center + basis y: y (free,), theta (d,). */
VB_API vb_status vb_model_assemble(const vb_model* model, const double* y, double* theta);

/* out = weight * phi_V(s, a) = weight * sum over s' of phi(s'|s,a) V(s'): V (S,), out (d,). */
VB_API vb_status vb_model_value_feature(const vb_model* model, int64_t pair, const double* V, double weight, double* out);

/* The y of a theta, which must be finite, moved inside the feasible set where theta is outside. */
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
    double least_reward;  /* of all pairs: minus infinity where an action is not allowed */
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
#define VB_BAD_TIMES (-5)      /* times is below 1, or the total would reach 2^62 */
#define VB_NO_COUNTS (-6)      /* counts is null */

/* Replaces all counts: values (transitions,) finite, not negative and in total below 2^62, observed (num_observed,)
 * those above 0, each once. */
VB_API vb_status vb_counts_load(vb_counts* counts, const double* values, const int64_t* observed, int64_t num_observed);

typedef struct vb_counts_view {
    double* values;        /* (transitions,) */
    int64_t* observed;     /* (transitions,), of which the first num_observed count */
    int64_t num_observed;  /* transitions seen at least once */
    int64_t total;         /* transitions added */
} vb_counts_view;

/* Where the counts lie, and how many there are now. */
VB_API vb_status vb_counts_fields(vb_counts* counts, vb_counts_view* view);

/* sum n log p - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta) */
typedef struct vb_objective {
    vb_counts* counts;     /* n */
    const double* linear;  /* (d,) finite, or null */
    double ridge;          /* finite, >= 0 */
    double bias;           /* finite, >= 0 */
    int64_t state;         /* where the value counts */
} vb_objective;

/* A maximiser over the feasible set. It keeps its local maxima from one call to the next. */
typedef struct vb_solver vb_solver;

/* A solver for up to `places` (1 to 1000) local maxima; factors: evaluate policies by dense factors, else by sweeps. */
VB_API vb_status vb_solver_new(const vb_model* model, int64_t places, int32_t factors, vb_solver** solver);
VB_API void vb_solver_free(vb_solver* solver);

typedef struct vb_starts {
    const double* fixed;   /* (num_fixed, free) finite: points y to start from */
    int64_t num_fixed;
    const double* best;    /* (free,) the y that is best for the controller everywhere, or null */
    const int64_t* pairs;  /* (num_pairs,) pairs in the order in which they are tried */
    int64_t num_pairs;
} vb_starts;

/* Where searches start from; copied. To be called once, before the first search; refused a second time. */
VB_API vb_status vb_solver_set_starts(vb_solver* solver, const vb_starts* starts);

/* Each of these maximises and returns how the incumbent's last climb ended (VB_OK to VB_NO_START), or VB_BAD_ARGUMENT. */
VB_API vb_status vb_solver_climb(vb_solver* solver, const vb_objective* objective);  /* from where it stands */
VB_API vb_status vb_solver_search(vb_solver* solver, const vb_objective* objective); /* from everywhere */
VB_API vb_status vb_solver_follow(vb_solver* solver, const vb_objective* objective); /* from its maxima and one start more */
VB_API vb_status vb_solver_climb_from_few(vb_solver* solver, const vb_objective* objective); /* and from two starts */
VB_API vb_status vb_solver_add_start(vb_solver* solver, const vb_objective* objective, const double* theta); /* from theta, too */

/* Stands at theta (d,) alone, moved inside the feasible set; theta must be finite, here and above. */
VB_API vb_status vb_solver_stand_at(vb_solver* solver, const double* theta);

/* Makes the incumbent's policy and V optimal for its theta. */
VB_API vb_status vb_solver_plan(vb_solver* solver);

/* Where the maxima lie. Row 0 is the incumbent, the last row scratch; rows = places + 1. */
typedef struct vb_solver_view {
    double* y;            /* (rows, free) */
    double* theta;        /* (rows, d) */
    double* V;            /* (rows, S) */
    int64_t* policy;      /* (rows, S) */
    int64_t* active;      /* (rows, free) facets on which the last program ended, block by block */
    int64_t* num_active;  /* (rows, blocks) */
    double* result;       /* (rows, 3) objective, relative KKT residual, gap */
    int32_t* status;      /* (rows,) how the last climb ended; before the first VB_NO_START */
    int32_t* iterations;  /* (rows,) of the last climb */
    uint8_t* evaluated;   /* (rows,) whether V and policy belong to theta */
    uint8_t* factored;    /* (rows,) whether `factors` belong to the active facets */
    double* factors;      /* (rows, factor_size) what the last quadratic program left, or null */
    int64_t factor_size;  /* 2 free^2, or 0 where factors are not kept */
    int64_t size;         /* maxima held */
    int64_t turn;         /* how often it has followed */
    int64_t climbs;       /* how often it has climbed, from wherever, since it was made */
} vb_solver_view;
VB_API vb_status vb_solver_fields(vb_solver* solver, vb_solver_view* view);

/* Takes over what was written into the fields, after checking it; theta, and all that follows from it, is recomputed.
 * Where it is refused the solver stands at the interior point, as if it were new. */
VB_API vb_status vb_solver_restore(vb_solver* solver, int64_t size, int64_t turn);

/* ---- Certificates ---------------------------------------------------------------------------------------------- */

/* An upper bound on the maximum over the feasible set P of
 *
 *     f(theta) = sum n log p - ridge/2 |theta|^2 + bias V*(state; theta),
 *
 * by branch and bound from a triangulation of P. */
typedef struct vb_certificate_task {
    const double* counts;     /* (transitions,) n >= 0 */
    const int64_t* observed;  /* (num_observed,) the transitions with n > 0 */
    int64_t num_observed;     /* how many of them */
    double ridge;             /* >= 0 */
    double bias;              /* >= 0 */
    int64_t state;            /* where the value counts */
    const double* points;     /* (num_points, free) points of P, as y, whose hull is P */
    int64_t num_points;       /* >= 1 */
    const int64_t* cells;     /* (num_cells, free + 1) simplices that cover P: places of their corners in points */
    int64_t num_cells;        /* >= 1 */
    int64_t most_bisections;  /* the work ends there; each needs room for a point and two cells */
    double best;              /* f at a known feasible point, or minus infinity */
    double tolerance;         /* the work ends where the bound is within it of the best f known */
} vb_certificate_task;

typedef struct vb_certificate {
    double bound;   /* f is nowhere greater, up to rounding */
    double best;    /* the greatest f known: the one given, or that at theta */
    int64_t cells;  /* how many simplices were bounded */
    int32_t found;  /* 1 where a corner was met that is better than the one given, else 0 */
} vb_certificate;

/* Fills the certificate and, where found, theta (d,). VB_OK where the bound is within the tolerance,
 * VB_OUT_OF_ITERATIONS where the bisections ended first: the bound is true all the same. */
VB_API vb_status vb_certify(const vb_model* model, const vb_certificate_task* task, vb_certificate* certificate,
                            double* theta);

/* ---- Linear programs over facets -------------------------------------------------------------------------------- */

/* A polytope {y : normals y + offsets >= 0} that has y = 0 strictly inside. */
typedef struct vb_facets {
    int64_t num_facets;     /* >= 1 */
    int64_t num_free;       /* >= 1: entries of y */
    const double* normals;  /* (facets, free) */
    const double* offsets;  /* (facets,) > 0 */
} vb_facets;

/* needed (facets,): 1, or 0 for a facet that the others that are needed make redundant. */
VB_API vb_status vb_needed_facets(const vb_facets* facets, uint8_t* needed);

/* width (free,): the extent along every axis; infinity where it could not be found. */
VB_API vb_status vb_widths(const vb_facets* facets, double* width);

/* Row k of y (count, free) becomes a point that lies furthest along row k of direction (count, free).
 * VB_OUT_OF_ITERATIONS where one of them is not exact. */
VB_API vb_status vb_furthest(const vb_facets* facets, int64_t count, const double* direction, double* y);

/* ---- Optimistic plans ------------------------------------------------------------------------------------------- */

/* {theta: |theta - estimate|^2 in the norm of Sigma <= radius^2}. Matrices over coordinates, here and below, are blocks
 * of (coordinates, coordinates), one after another in the order of the feasible set's blocks. */
typedef struct vb_ellipsoid {
    const double* sigma;     /* symmetric and positive definite in every block */
    const double* estimate;  /* (d,) need not be feasible */
    double radius;           /* finite, at least 0 */
} vb_ellipsoid;

/* How an optimistic plan ended. */
typedef struct vb_optimistic_plan {
    double error_bound;  /* of V, against the best value of all models in the set; infinite where none is promised */
    double gap;          /* what an inner maximum may lack at most, in units of V; infinite where one failed */
    double missed;       /* the worst ellipsoid's square distance from P to its estimate less radius^2 */
    int64_t rounds;      /* how often models were chosen for all pairs */
    vb_status status;    /* VB_OK: to the tolerance; VB_STALLED: the error no longer falls; VB_OUT_OF_ITERATIONS;
                            VB_NOT_CONVEX: some Sigma is not positive definite; VB_INFEASIBLE: P has no point */
    vb_status inner;     /* VB_OK, or how the first inner problem that failed did */
    int64_t empty;       /* 1 where no theta of P lies within some radius: the nearest one was planned for. Else 0. */
} vb_optimistic_plan;

/* Plans optimistically again and again, each time from where the last plan ended:
 *
 *     V(s) = max_a max_theta  R_theta(s,a) + gamma sum_s' <phi(s'|s,a), theta> V(s'),  theta in P and all ellipsoids.
 *
 * A handle may be used without limit; it keeps warm starts for as many ellipsoids as it was ever given. */
typedef struct vb_optimist vb_optimist;

/* Where a handle keeps its fields; addresses stay as they are as long as it lives. What the next plan depends on is V,
 * policy, tight, chosen and the warm starts: write them back to continue as if a run had never stopped. */
typedef struct vb_optimist_view {
    int64_t num_squares;  /* entries of a matrix over coordinates */
    int64_t most_free;  /* the most free coordinates that a block has */
    double* V;          /* (S,) the optimistic value; 1/(1-gamma) at first */
    int64_t* policy;    /* (S,) actions */
    double* theta;      /* (d,) the point of P nearest to the estimate, of the ellipsoid with the least room */
    double* p;          /* (transitions,) probabilities of the models chosen */
    int64_t* tight;     /* (pairs,) the ellipsoid that decided */
    double* chosen;     /* (pairs, most_free) the free coordinates chosen, in the block of the pair */
    vb_optimistic_plan* plan;  /* how the last plan ended; before the first its status is VB_NO_START */
} vb_optimist_view;

/* The same for the warm starts of one ellipsoid: what the last problem of every pair ended with. */
typedef struct vb_warm_start_view {
    double* s;            /* (pairs,) multiplier; infinite where P alone was in the way */
    int64_t* num_active;  /* (pairs,) active facets */
    int64_t* active;      /* (pairs, most_free) which, within the block */
    double* y;            /* (pairs, most_free) the free coordinates */
} vb_warm_start_view;

/* `factors`: whether policies are evaluated by dense factors, (S, S), or by sweeps (0). */
VB_API vb_status vb_optimist_new(const vb_model* model, int32_t factors, vb_optimist** optimist);
VB_API void vb_optimist_free(vb_optimist* optimist);
VB_API vb_status vb_optimist_get_view(vb_optimist* optimist, vb_optimist_view* view);

/* Makes room for that many ellipsoids, 1 at least; what the first ones ended with is kept. `vb_optimist_plan` does so
 * itself. */
VB_API vb_status vb_optimist_grow(vb_optimist* optimist, int64_t ellipsoids);

/* The warm starts of one of the ellipsoids that there is room for, counted from 0. */
VB_API vb_status vb_optimist_get_warm_start(vb_optimist* optimist, int64_t ellipsoid, vb_warm_start_view* view);

/* Plans for the theta that all sets share. sweeps = 0: to an error of V up to `tolerance` (positive), if it can be.
 * sweeps > 0: that many times the optimistic Bellman operator from 1/(1-gamma), clipped there. Returns the plan's
 * status; the view's `plan` has the rest. */
VB_API vb_status vb_optimist_plan(vb_optimist* optimist, const vb_ellipsoid* sets, int64_t count, double tolerance,
                                  int64_t sweeps);

/* out (pairs, d): the theta that the last plan chose for every pair. */
VB_API vb_status vb_optimist_thetas(const vb_optimist* optimist, double* out);

/* Optimism over L1 balls around frequencies (UCRL2): the best p with |p - estimate(.|s,a)|_1 <= radius(s,a). */
typedef struct vb_l1_optimist vb_l1_optimist;

typedef struct vb_l1_optimist_view {
    double* V;            /* (S,) the optimistic value, an upper bound however a plan ends */
    int64_t* policy;      /* (S,) actions, the lowest among equals */
    double* error_bound;  /* of V; infinite before the first plan */
} vb_l1_optimist_view;

/* Makes one, frees it, and says where its arrays lie. */
VB_API vb_status vb_l1_optimist_new(const vb_model* model, vb_l1_optimist** optimist);
VB_API void vb_l1_optimist_free(vb_l1_optimist* optimist);
VB_API vb_status vb_l1_optimist_get_view(vb_l1_optimist* optimist, vb_l1_optimist_view* view);

/* Plans from 1/(1-gamma): estimate (transitions,) a distribution for every pair, radius (pairs,) at least 0. VB_OK
 * where the error is at most `tolerance`, VB_OUT_OF_ITERATIONS after `most_sweeps` (at least 1). */
VB_API vb_status vb_l1_optimist_plan(vb_l1_optimist* optimist, const double* estimate, const double* radius,
                                     double tolerance, int64_t most_sweeps);

/* Value-targeted regression, E[V(s')] = <phi_V(s,a), theta> with phi_V(s,a) = sum_s' phi(s'|s,a) V(s'):
 * Sigma = ridge I + sum w phi_V phi_V', b = sum w phi_V V(s'), estimate = Sigma^{-1} b. */
typedef struct vb_regression vb_regression;

typedef struct vb_regression_view {
    int64_t num_squares;  /* entries of sigma and of inverse */
    double* sigma;        /* Sigma */
    double* inverse;      /* Sigma^{-1} */
    double* b;            /* (d,) */
    double* log_det;      /* log det Sigma - log det (ridge I), one number */
} vb_regression_view;

/* ridge: finite, above 0. */
VB_API vb_status vb_regression_new(const vb_model* model, double ridge, vb_regression** regression);
VB_API void vb_regression_free(vb_regression* regression);
VB_API vb_status vb_regression_get_view(vb_regression* regression, vb_regression_view* view);

/* Takes in that V (S,) was `target` after the pair, with a finite weight of at least 0. */
VB_API vb_status vb_regression_add(vb_regression* regression, int64_t pair, const double* V, double target,
                                   double weight);

/* out[0] = <phi_V, estimate>, out[1] = |phi_V| in Sigma^{-1}, of the pair. */
VB_API vb_status vb_regression_predict(vb_regression* regression, int64_t pair, const double* V, double* out);

/* theta (d,) = Sigma^{-1} b. */
VB_API vb_status vb_regression_estimate(const vb_regression* regression, double* theta);

/* Information A = ridge I + sum phi phi' over observed transitions, block by block. A decision is due when the
 * log-determinant of a block has grown by `enough` since the last one, or by `enough` for every five of its free
 * coordinates if that is more. */
typedef struct vb_information vb_information;

typedef struct vb_information_view {
    int64_t num_squares;  /* entries of inverse */
    double* inverse;      /* A^{-1} */
    double* growth;       /* (blocks,) of the log-determinants since the last decision */
    int64_t* due;         /* 1 where a decision is due, else 0; 1 at first */
} vb_information_view;

/* ridge, enough: finite, above 0. */
VB_API vb_status vb_information_new(const vb_model* model, double ridge, double enough,
                                    vb_information** information);
VB_API void vb_information_free(vb_information* information);
VB_API vb_status vb_information_get_view(vb_information* information, vb_information_view* view);

/* Takes in one observed transition. */
VB_API vb_status vb_information_add(vb_information* information, int64_t transition);

/* Takes in `count` transitions one after another; squares[k] = |phi|^2 in A^{-1} just before the k-th. */
VB_API vb_status vb_information_follow(vb_information* information, const int64_t* transitions, int64_t count,
                                       double* squares);

/* Notes that a decision has been taken: growth starts from 0, none is due. */
VB_API vb_status vb_information_decided(vb_information* information);

/* ---- Sampling -------------------------------------------------------------------------------------------------- */

/* A Markov chain (hit-and-run) for the posterior of theta: density prod p^n on the feasible set, in coordinates y. */
typedef struct vb_sampler vb_sampler;

/* What a sampler holds, as views that live as long as it does. y and reference are all its state: write them to go on
 * from where another sampler of the same model was. */
typedef struct vb_sampler_state {
    double* y;             /* (free,) the chain */
    double* reference;     /* (free,) the point at which directions were scaled last */
    const double* share;   /* (facets,) how much each facet counts in the scale of directions */
    const double* center;  /* (free,) of the largest ellipsoids inside the blocks, to which the shares belong */
    int64_t num_facets;    /* of all blocks */
    int64_t num_normals;   /* sum over blocks of m^2, m their free coordinates: normal numbers per unit of thinning */
    int64_t num_steps;     /* sum over blocks of m: steps per unit of thinning */
} vb_sampler_state;

/* Makes a sampler whose chain begins at y = 0, the centre of the model; `*sampler` is null unless VB_OK is returned. */
VB_API vb_status vb_sampler_new(const vb_model* model, vb_sampler** sampler);
VB_API void vb_sampler_free(vb_sampler* sampler);
VB_API vb_status vb_sampler_look(vb_sampler* sampler, vb_sampler_state* state);

/* Moves the chain along the posterior of counts (transitions,), n >= 0, by thinning >= 1 steps per free coordinate of
 * each block, and writes theta (d,). Chance: normals (thinning * num_normals,) standard normal, uniforms
 * (thinning * num_steps, 2) in [0, 1). */
VB_API vb_status vb_sampler_sample(vb_sampler* sampler, const double* counts, int64_t thinning, const double* normals,
                                   const double* uniforms, double* theta);

/* ---- Tabular: reward-biased rows -------------------------------------------------------------------------------- */

/* Reward-biased maximum likelihood where each pair has a distribution of its own, whatever the features say:
 *
 *     maximise  f(p) = sum n log p + bias V*(state; p)      over all p with the model's possible transitions. */
typedef struct vb_rows vb_rows;

typedef struct vb_rows_task {
    const double* counts;  /* (transitions,) n >= 0 */
    const double* visits;  /* (S*A,) sums of n over the transitions of a pair */
    double bias;           /* >= 0 */
    int64_t state;         /* where the value counts */
    double tolerance;      /* of the linearised gap, relative to 1 + |f| */
    int64_t limit;         /* steps of one climb */
} vb_rows_task;

typedef struct vb_rows_result {
    double objective;  /* f */
    double gap;        /* what the objective, linearised in V, may still gain: 0 at a fixed point, where KKT holds */
} vb_rows_result;

/* Makes a solver whose p is uniform and whose policy is action 0. factors: 1 to evaluate policies by dense (S, S)
 * factors, 0 by sweeps. Every pair must have a possible transition. */
VB_API vb_status vb_rows_new(const vb_model* model, int32_t factors, vb_rows** rows);
VB_API void vb_rows_free(vb_rows* rows);

/* Views of the model in force: p (transitions,) and its policy (S,). They may be written; vb_rows_solve checks the
 * policy. */
VB_API vb_status vb_rows_look(vb_rows* rows, double** p, int64_t** policy);

/* Moves p and the policy from where they are to a fixed point. */
VB_API vb_status vb_rows_solve(vb_rows* rows, const vb_rows_task* task, vb_rows_result* result);

/* ---- Parts, for tests ------------------------------------------------------------------------------------------ */

/* A line along which probabilities change by 1 + t ratio: sum weight log(1 + t ratio) - level, and its derivative. */
VB_API vb_status vb_part_excess(int64_t count, const double* weight, const double* ratio, double t, double level,
                                double* value_and_slope);

/* How far towards sign (1 or -1) that sum stays above the level, at most bound. */
typedef struct vb_part_slice {
    int64_t count;         /* >= 0 */
    const double* weight;  /* (count,) */
    const double* ratio;   /* (count,) */
    double level;          /* < 0 */
    double sign;
    double bound;          /* > 0 */
} vb_part_slice;

/* How far from t = 0 the density of the slice stays above its level. */
VB_API vb_status vb_part_crossing(const vb_part_slice* slice, double* distance);

/* One pair of vb_rows in closed form: the p (count,) that maximises sum counts log p + weight <p, gain>. */
VB_API vb_status vb_part_biased_pair(int64_t count, const double* counts, const double* gain, double weight, double* p);

/* sum counts log(p / frequency) + weight <p, gain> of a distribution p of a pair; frequency = counts / their sum. */
VB_API vb_status vb_part_pair_score(int64_t count, const double* counts, const double* gain, double weight,
                                    const double* p, double* score);
/* ---- Parts, for tests: planning ---------------------------------------------------------------------------------- */

/* LU factors of a matrix (n, n) in place: L below the diagonal, U above it, the inverses of U's diagonal on it. */
VB_API vb_status vb_part_lu_factor(int64_t n, double* matrix);

/* x (n,) becomes the solution of (LU) z = x; of (LU)' z = x where `transposed` is 1. */
VB_API vb_status vb_part_lu_solve(int64_t n, const double* lu, int32_t transposed, double* x);

/* Every column of X (n, columns) becomes the solution of (LU) z = x. */
VB_API vb_status vb_part_lu_solve_columns(int64_t n, const double* lu, int64_t columns, double* X);

/* `visits` from a state on, to an L1 error of `tolerance`. For planners without factors. */
VB_API vb_status vb_part_visits(vb_planner* planner, int64_t state, double tolerance);

/* V^pi, or the visits from a state on where that is not -1, from what is in V or visits to a residual of size `enough`, by
 * BiCGStab alone; VB_STALLED where nothing was gained. For planners without factors. */
VB_API vb_status vb_part_slow_chain(vb_planner* planner, int64_t state, double enough);

/* ---- Parts, for tests: optimistic plans -------------------------------------------------------------------------- */

/* The largest <c, y> within several ellipsoids |y - middle|^2 in H <= room and over facets normals y + offsets >= 0. */
typedef struct vb_part_intersection {
    int64_t free;        /* m >= 1 */
    int64_t ellipsoids;  /* at least 1 */
    int64_t facets;
    const double* c;        /* (m,) */
    const double* H;        /* (ellipsoids, m, m) */
    const double* middle;   /* (ellipsoids, m) */
    const double* room;     /* (ellipsoids,) */
    const double* normals;  /* (facets, m) of length 1 */
    const double* offsets;  /* (facets,) */
    double* mu;  /* (ellipsoids,) weights of the ellipsoids to start from, at least one above 0; those at the end */
    double* y;   /* (m,) the maximiser */
    double gap;  /* the maximum is at most <c, y> + gap; infinite where no common point was found */
} vb_part_intersection;

/* Solves it: y and gap are set, mu is changed. */
VB_API vb_status vb_part_intersect(vb_part_intersection* problem);

/* After a plan whose set was not empty: chooses models for V (S,), p (transitions,) and the worst gap at once. */
VB_API vb_status vb_part_choose_models(vb_optimist* optimist, const double* V, double* p, double* gap);

/* max <p, gain> over distributions within `radius` of the estimate in L1; order (count,), a permutation, ends as one by
 * increasing gain. */
VB_API vb_status vb_part_best_mean(int64_t count, const double* estimate, const double* gain, double radius,
                                   int64_t* order, double* value);

/* ---- Parts, for tests: climbing ---------------------------------------------------------------------------------- */

/* Does nothing and returns VB_OK: what a call alone costs. */
VB_API vb_status vb_part_nothing(const vb_solver* solver, const vb_objective* objective);

/* Maximises <g, d> - d' B d / 2 subject to normals d + slack >= 0, with scratch that is full of NaN. */
typedef struct vb_part_program {
    int64_t free;           /* n >= 1: entries of d */
    int64_t facets;
    int64_t room;           /* >= 0: by how much scratch is larger than needed, as where blocks differ in size */
    int32_t by_axis;        /* 1 to keep the normals by columns, too */
    const double* B;        /* (n, n) symmetric */
    const double* g;        /* (n,) */
    const double* normals;  /* (facets, n) of length 1 */
    const double* slack;    /* (facets,) */
    double* d;              /* (n,) the maximiser */
    int64_t* active;        /* (n,) the facets to try first; at the end the active ones */
    int64_t num_active;     /* how many of each, at most n */
    double* multiplier;     /* (n + 1,) of the active facets */
    const double* before_B; /* (n, n) of a program with the same facets that is solved first, and whose frame serves this
                             * one; null for none */
    const double* before_g; /* (n,) of that program */
} vb_part_program;

/* VB_OK, VB_NOT_CONVEX, VB_INFEASIBLE, or VB_OUT_OF_ITERATIONS. */
VB_API vb_status vb_part_solve_program(vb_part_program* program);

/* lower (n, n) becomes the Cholesky factor of a symmetric matrix (n, n), and inverse (n, n) the factor's inverse: lower
 * triangles. VB_NOT_CONVEX where the matrix is not safely positive definite. */
VB_API vb_status vb_part_cholesky(int64_t n, const double* matrix, double* lower, double* inverse);

/* out = log x, of count numbers. */
VB_API vb_status vb_part_logs(int64_t count, const double* x, double* out);

/* sum of weight log x; minus infinity where an x is not positive. */
VB_API vb_status vb_part_weighted_log_sum(int64_t count, const double* weight, const double* x, double* sum);

/* The objective and its derivatives at any theta, feasible or not; scratch is full of NaN at first. */
typedef struct vb_probe vb_probe;

/* `factors`: policies by dense factors, else by sweeps. `copies`: with the copies of features and normals that small models
 * keep, else without any, as for large ones. */
VB_API vb_status vb_part_probe_new(const vb_model* model, int32_t factors, int32_t copies, vb_probe** probe);
VB_API void vb_part_probe_free(vb_probe* probe);

/* Where a probe's results lie; what the model's kind does not have is null. */
typedef struct vb_part_probe_view {
    double* p;          /* (transitions,) */
    int64_t* policy;    /* (S,) where planning starts and ends; may be written */
    double* V;          /* (S,) */
    double* visits;     /* (S,) discounted, from the objective's state on */
    double* gradient;   /* (d,) in theta */
    double* slope;      /* (free,) the gradient in y */
    double* concave;    /* (free, free) dense features: minus the Hessian of the part without value, in y */
    double* bent;       /* (free, free) dense features: the Hessian of V(state) in y for the policy */
    double* hessian;    /* (num_squares,) sparse features: minus the Hessian without value in theta, lower triangles by block */
    int64_t num_squares;
} vb_part_probe_view;
VB_API vb_status vb_part_probe_look(vb_probe* probe, vb_part_probe_view* view);

/* f at theta (d,); held: V is that of the policy at hand. Sets p, policy and V. */
VB_API vb_status vb_part_probe_evaluate(vb_probe* probe, const vb_objective* objective, int32_t held, const double* theta,
                                        double* f);

/* After that, for the same objective: gradient, slope and visits. */
VB_API vb_status vb_part_probe_slope(vb_probe* probe, const vb_objective* objective);

/* After that: concave and bent, or hessian. */
VB_API vb_status vb_part_probe_curvature(vb_probe* probe, const vb_objective* objective);

/* After a slope, with factors and sparse features: out (d,) = (Hessian of V(state) in theta) v. */
VB_API vb_status vb_part_probe_multiply(vb_probe* probe, const double* v, double* out);

/* out (free,) = basis' g, a gradient in theta as one in y. */
VB_API vb_status vb_part_reduce(const vb_model* model, const double* g, double* out);

/* B (m, m) = basis' H basis of a block, from the lower triangle of H (coordinates, coordinates). */
VB_API vb_status vb_part_reduce_hessian(const vb_model* model, int64_t block, const double* hessian, double* B);

#ifdef __cplusplus
}
#endif

#endif
