/* Models. The conventions are in vbmle.h. */
#ifndef VBMLE_MODEL_H
#define VBMLE_MODEL_H

#include "vbmle/library.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
