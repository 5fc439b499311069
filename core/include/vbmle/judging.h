/* Policies judged by draws of theta. The conventions are in vbmle.h. */
#ifndef VBMLE_JUDGING_H
#define VBMLE_JUDGING_H

#include "vbmle/sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draws theta_1 .. theta_M of a model, each with its optimal value V* and a policy that has it. */
typedef struct vb_draws vb_draws;

/* What draws hold, as views that live as long as they do. theta, best and policy are all their state. */
typedef struct vb_draws_view {
    double* theta;        /* (M, d) in */
    double* best;         /* (M, S) V* of each, where the next plan begins */
    int64_t* policy;      /* (M, S) with that value; allowed actions */
    double* information;  /* (S*A,) what the draws disagree on, in nats, once vb_draws_inform was called */
    double precision;     /* of V* and of what is lost: less counts as nothing */
} vb_draws_view;

/* Makes room for M >= 1 draws; `*draws` is null unless VB_OK is returned. */
VB_API vb_status vb_draws_new(const vb_model* model, int64_t count, vb_draws** draws);
VB_API void vb_draws_free(vb_draws* draws);
VB_API vb_status vb_draws_look(vb_draws* draws, vb_draws_view* view);

/* V* and its policy for those of the draws that are named (count,), whose theta was written. */
VB_API vb_status vb_draws_plan(vb_draws* draws, const int64_t* which, int64_t count);

/* Takes over theta, best and policy as they were written. */
VB_API vb_status vb_draws_take_over(vb_draws* draws);

/* For each of K policies (K, S), from a state on: loss (K, M), V* - V^pi in each draw, and taught (K,), the information of
 * the pairs that it visits under the mean model, discounted. */
VB_API vb_status vb_draws_judge(vb_draws* draws, const int64_t* policies, int64_t count, int64_t state, double* loss,
                                double* taught);

/* The information of all pairs. */
VB_API vb_status vb_draws_inform(vb_draws* draws);

#ifdef __cplusplus
}
#endif

#endif
