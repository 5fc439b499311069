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

/* ---- Likelihood and value: counts, the solver ------------------------------------------------------------------- */

/* ---- Certificates ---------------------------------------------------------------------------------------------- */

/* ---- Linear programs over facets -------------------------------------------------------------------------------- */

/* ---- Optimistic plans ------------------------------------------------------------------------------------------- */

/* ---- Sampling -------------------------------------------------------------------------------------------------- */

/* ---- Tabular: reward-biased rows -------------------------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif

#endif
