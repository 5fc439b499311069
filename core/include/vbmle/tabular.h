/* Tabular: reward-biased rows. The conventions are in vbmle.h. */
#ifndef VBMLE_TABULAR_H
#define VBMLE_TABULAR_H

#include "vbmle/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reward-biased maximum likelihood where each pair has a distribution of its own, whatever the features say:
 *
 *     maximise  f(p) = sum n log p + bias V*(state; p)      over all p with the model's possible transitions. */
typedef struct vb_rows vb_rows;

typedef struct vb_rows_view {
    double* p;        /* (transitions,) */
    int64_t* policy;  /* (S,) optimal for p */
} vb_rows_view;

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

/* Where the model in force lies. It may be written; vb_rows_solve checks the policy. */
VB_API vb_status vb_rows_look(vb_rows* rows, vb_rows_view* view);

/* Moves p and the policy from where they are to a fixed point. */
VB_API vb_status vb_rows_solve(vb_rows* rows, const vb_rows_task* task, vb_rows_result* result);

#ifdef __cplusplus
}
#endif

#endif
