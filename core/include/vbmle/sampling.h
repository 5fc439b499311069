/* Sampling. The conventions are in vbmle.h. */
#ifndef VBMLE_SAMPLING_H
#define VBMLE_SAMPLING_H

#include "vbmle/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A Markov chain (hit-and-run) for the posterior of theta: density prod p^n on the feasible set, in coordinates y. */
typedef struct vb_sampler vb_sampler;

/* What a sampler holds, as views that live as long as it does. y and reference are all its state: write them to go on
 * from where another sampler of the same model was. */
typedef struct vb_sampler_view {
    double* y;             /* (free,) the chain */
    double* reference;     /* (free,) the point at which directions were scaled last */
    const double* share;   /* (facets,) how much each facet counts in the scale of directions */
    const double* center;  /* (free,) of the largest ellipsoids inside the blocks, to which the shares belong */
    int64_t num_facets;    /* of all blocks */
    int64_t num_normals;   /* sum over blocks of m^2, m their free coordinates: normal numbers per unit of thinning */
    int64_t num_steps;     /* sum over blocks of m: steps per unit of thinning */
} vb_sampler_view;

/* Makes a sampler whose chain begins at y = 0, the centre of the model; `*sampler` is null unless VB_OK is returned. */
VB_API vb_status vb_sampler_new(const vb_model* model, vb_sampler** sampler);
VB_API void vb_sampler_free(vb_sampler* sampler);
VB_API vb_status vb_sampler_look(vb_sampler* sampler, vb_sampler_view* state);

/* Moves the chain along the posterior of counts (transitions,), n >= 0, by thinning >= 1 steps per free coordinate of
 * each block, and writes theta (d,). Chance: normals (thinning * num_normals,) standard normal, uniforms
 * (thinning * num_steps, 2) in [0, 1). */
VB_API vb_status vb_sampler_sample(vb_sampler* sampler, const double* counts, int64_t thinning, const double* normals,
                                   const double* uniforms, double* theta);

#ifdef __cplusplus
}
#endif

#endif
