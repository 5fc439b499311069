/* Certificates. The conventions are in vbmle.h. */
#ifndef VBMLE_CERTIFYING_H
#define VBMLE_CERTIFYING_H

#include "vbmle/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
