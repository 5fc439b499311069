/* Bayes-optimal control of a hidden-model MDP. The conventions are in vbmle.h. */
#ifndef VBMLE_BAYES_H
#define VBMLE_BAYES_H

#include "vbmle/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of K candidates is true and stays so; the state is seen, the candidate is not. A belief b is a distribution over
 * candidates, and what the best controller earns from (s, b) on is
 *
 *     V(s, b) = max_a  sum_k b_k R_k(s, a) + gamma sum_s' p(s') V(s', b'),    p(s') = sum_k b_k P_k(s'|s, a),
 *     b'_k = b_k P_k(s'|s, a) / p(s').
 *
 * A search from the beliefs that are asked for keeps a lower and an upper bound on it. With stages there are that many
 * steps; a place is stage * S + s, and there is one stage where the steps have no end. */
typedef struct vb_bayes vb_bayes;

typedef struct vb_bayes_data {
    int64_t num_states;         /* S >= 1 */
    int64_t num_actions;        /* A >= 1 */
    int64_t num_candidates;     /* K >= 1 */
    int64_t steps;              /* 0 for ever, else how many */
    double discount;            /* gamma in [0, 1] with a number of steps, else in [0, 1) */
    const int64_t* pair_begin;  /* (S*A + 1,) transitions of a pair */
    const int64_t* successor;   /* (transitions,) */
    const double* p;            /* (transitions, K) P_k of each */
    const double* reward;       /* (S*A, K) R_k; minus infinity for an action that is not allowed */
    const double* known;        /* (places, K) what is earned from a place on, at most, where k is known to be true */
    int64_t most_nodes;         /* pairs of a place and a belief that are looked at, at most */
} vb_bayes_data;

typedef struct vb_bayes_task {
    int64_t place;        /* where the search begins */
    const double* belief; /* (K,) and with what belief */
    double tolerance;     /* it ends where the bounds are this close, >= 0 */
    int64_t most_trials;  /* or after so many trials */
} vb_bayes_task;

typedef struct vb_bayes_bounds {
    double low;       /* a policy that earns it is known */
    double high;      /* no policy earns more */
    int64_t trials;   /* that were made */
    int64_t nodes;    /* that there are, in all */
    int64_t vectors;  /* lower bounds that there are, in all */
} vb_bayes_bounds;

/* The lower bounds: each is linear in the belief, what a policy earns from a place on that begins with an action. */
typedef struct vb_bayes_view {
    double* values;   /* (vectors, K) */
    int64_t* place;   /* (vectors,) */
    int64_t* action;  /* (vectors,) */
} vb_bayes_view;

/* Copies nothing that is large: the arrays of data must outlive what is made. */
VB_API vb_status vb_bayes_new(const vb_bayes_data* data, vb_bayes** bayes);
VB_API void vb_bayes_free(vb_bayes* bayes);

/* Adds a lower bound for each place: what one policy, (places,) actions, earns there under each candidate, (places, K). */
VB_API vb_status vb_bayes_add(vb_bayes* bayes, const int64_t* policy, const double* values);

/* Brings the bounds at a place and a belief together; VB_OUT_OF_ITERATIONS where trials or room end before. Every place
 * needs a lower bound first. */
VB_API vb_status vb_bayes_improve(vb_bayes* bayes, const vb_bayes_task* task, vb_bayes_bounds* bounds);

/* Where the lower bounds lie. They stay there. */
VB_API vb_status vb_bayes_look(vb_bayes* bayes, vb_bayes_view* view);

/* Marks the lower bounds, (vectors,), that the best policy from the places and beliefs asked for so far rests on, and those
 * that were added. */
VB_API vb_status vb_bayes_keep(const vb_bayes* bayes, uint8_t* kept);

#ifdef __cplusplus
}
#endif

#endif
