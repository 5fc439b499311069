/* Optimistic plans. The conventions are in vbmle.h. */
#ifndef VBMLE_OPTIMISM_H
#define VBMLE_OPTIMISM_H

#include "vbmle/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

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
VB_API vb_status vb_optimist_look(vb_optimist* optimist, vb_optimist_view* view);

/* Makes room for that many ellipsoids, 1 at least; what the first ones ended with is kept. `vb_optimist_plan` does so
 * itself. */
VB_API vb_status vb_optimist_grow(vb_optimist* optimist, int64_t ellipsoids);

/* The warm starts of one of the ellipsoids that there is room for, counted from 0. */
VB_API vb_status vb_optimist_warm_start(vb_optimist* optimist, int64_t ellipsoid, vb_warm_start_view* view);

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
VB_API vb_status vb_l1_optimist_look(vb_l1_optimist* optimist, vb_l1_optimist_view* view);

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
VB_API vb_status vb_regression_look(vb_regression* regression, vb_regression_view* view);

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
VB_API vb_status vb_information_look(vb_information* information, vb_information_view* view);

/* Takes in one observed transition. */
VB_API vb_status vb_information_add(vb_information* information, int64_t transition);

/* Takes in `count` transitions one after another; squares[k] = |phi|^2 in A^{-1} just before the k-th. */
VB_API vb_status vb_information_follow(vb_information* information, const int64_t* transitions, int64_t count,
                                       double* squares);

/* Notes that a decision has been taken: growth starts from 0, none is due. */
VB_API vb_status vb_information_decided(vb_information* information);

#ifdef __cplusplus
}
#endif

#endif
