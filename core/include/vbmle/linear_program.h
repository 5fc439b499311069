/* Linear programs over facets. The conventions are in vbmle.h. */
#ifndef VBMLE_LINEAR_PROGRAM_H
#define VBMLE_LINEAR_PROGRAM_H

#include "vbmle/library.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
