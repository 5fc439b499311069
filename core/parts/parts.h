/* Parts of the core, for tests: the interface of a library that nothing else loads. It has the core in it, and works on
 * handles that the core's library of the same build made. The conventions are in vbmle.h. */
#ifndef VBMLE_PARTS_H
#define VBMLE_PARTS_H

#include "vbmle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What vb_interface() is for vbmle.h, for these headers and this one. */
VB_API uint64_t vb_part_interface(void);

/* ---- Sampling ---------------------------------------------------------------------------------------------------- */

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

/* ---- Tabular ----------------------------------------------------------------------------------------------------- */

/* One pair of vb_rows in closed form: the p (count,) that maximises sum counts log p + weight <p, gain>. */
VB_API vb_status vb_part_biased_pair(int64_t count, const double* counts, const double* gain, double weight, double* p);

/* sum counts log(p / frequency) + weight <p, gain> of a distribution p of a pair; frequency = counts / their sum. */
VB_API vb_status vb_part_pair_score(int64_t count, const double* counts, const double* gain, double weight,
                                    const double* p, double* score);

/* ---- Planning ------------------------------------------------------------------------------------------------------ */

/* LU factors of a matrix (n, n) in place: L below the diagonal, U above it, the inverses of U's diagonal on it. */
VB_API vb_status vb_part_lu_factor(int64_t n, double* matrix);

/* x (n,) becomes the solution of (LU) z = x; of (LU)' z = x where `transposed` is 1. */
VB_API vb_status vb_part_lu_solve(int64_t n, const double* lu, int32_t transposed, double* x);

/* Every column of X (n, columns) becomes the solution of (LU) z = x. */
VB_API vb_status vb_part_lu_solve_columns(int64_t n, const double* lu, int64_t columns, double* X);

/* A sparse matrix: the entries of row i are value[begin[i]] .. value[end[i] - 1]. */
typedef struct vb_part_sparse {
    int64_t n;              /* >= 1 */
    const int32_t* begin;   /* (n,) */
    const int32_t* end;     /* (n,) */
    const int32_t* column;  /* (entries,) */
    const double* value;    /* (entries,) */
    int32_t least_degree;   /* whether rows are taken by least degree, or as they are numbered */
    int32_t transposed;     /* whether it is the transpose of I - matrix that is solved with */
    int32_t* order;         /* (n,) becomes the row of each pivot */
    double most;            /* products that may be taken; 1e300 for any number */
    double products;        /* becomes what a factorisation takes */
    double entries;         /* becomes how many entries L and U have */
} vb_part_sparse;

/* x (n,) becomes the solution of (I - matrix) z = x by sparse factors; VB_STALLED where they take more than `most`. */
VB_API vb_status vb_part_sparse_solve(vb_part_sparse* system, double* x);

/* `visits` from a state on, to an L1 error of `tolerance`. For planners without factors. */
VB_API vb_status vb_part_visits(vb_planner* planner, int64_t state, double tolerance);

/* V^pi, or the visits from a state on where that is not -1, from what is in V or visits to a residual of size `enough`, by
 * BiCGStab alone; VB_STALLED where nothing was gained. For planners without factors. */
VB_API vb_status vb_part_slow_chain(vb_planner* planner, int64_t state, double enough);

/* ---- Optimistic plans ---------------------------------------------------------------------------------------------- */

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

/* ---- Climbing ------------------------------------------------------------------------------------------------------ */

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
    int64_t turns;          /* at the end: how many facets this program added on its way */
} vb_part_program;

/* VB_OK, VB_NOT_CONVEX, VB_INFEASIBLE, or VB_OUT_OF_ITERATIONS. */
VB_API vb_status vb_part_solve_program(vb_part_program* program);

/* Solves a program, then takes one step on the face where it ended, s = K slope, which shows the curvature q = shown s. K is the
 * inverse of B along the face. Before and after that was learnt: K (2, n, n); the step (n,). VB_NOT_CONVEX where q shows no
 * curvature along s, or as a program ends. */
VB_API vb_status vb_part_learn(vb_part_program* program, const double* slope, const double* shown, double* K, double* step);

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
