/* Likelihood and value: counts, the solver. The conventions are in vbmle.h. */
#ifndef VBMLE_SOLVER_H
#define VBMLE_SOLVER_H

#include "vbmle/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How often each transition was seen. */
typedef struct vb_counts vb_counts;

/* Empty counts; possible (transitions,): whether some feasible theta allows a transition. */
VB_API vb_status vb_counts_new(const vb_model* model, const uint8_t* possible, vb_counts** counts);
VB_API void vb_counts_free(vb_counts* counts);

/* Counts (s, a, s') that many times and returns the transition's number, or one of the following; then nothing is
 * counted. */
VB_API int64_t vb_counts_add(vb_counts* counts, int64_t state, int64_t action, int64_t next_state, int64_t times);

enum vb_not_counted {
    VB_BAD_STATE = -1,      /* the state is out of range */
    VB_BAD_ACTION = -2,     /* the action is out of range */
    VB_BAD_NEXT_STATE = -3, /* the next state is out of range */
    VB_IMPOSSIBLE = -4,     /* no feasible theta allows the transition */
    VB_BAD_TIMES = -5,      /* times is below 1, or the total would reach 2^62 */
    VB_NO_COUNTS = -6       /* counts is null */
};

/* Replaces all counts: values (transitions,) finite, not negative and in total below 2^62, observed (num_observed,)
 * those above 0, each once. */
VB_API vb_status vb_counts_load(vb_counts* counts, const double* values, const int64_t* observed, int64_t num_observed);

typedef struct vb_counts_view {
    double* values;        /* (transitions,) */
    int64_t* observed;     /* (transitions,), of which the first num_observed count */
    int64_t num_observed;  /* transitions seen at least once */
    int64_t total;         /* transitions added */
} vb_counts_view;

/* Where the counts lie, and how many there are now. */
VB_API vb_status vb_counts_look(vb_counts* counts, vb_counts_view* view);

/* sum n log p - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta) */
typedef struct vb_objective {
    vb_counts* counts;     /* n */
    const double* linear;  /* (d,) finite, or null */
    double ridge;          /* finite, >= 0 */
    double bias;           /* finite, >= 0 */
    int64_t state;         /* where the value counts */
} vb_objective;

/* A maximiser over the feasible set. It keeps its local maxima from one call to the next. */
typedef struct vb_solver vb_solver;

/* A solver for up to `places` (1 to 1000) local maxima; factors: evaluate policies by dense factors, else by sweeps. */
VB_API vb_status vb_solver_new(const vb_model* model, int64_t places, int32_t factors, vb_solver** solver);

/* Another for as many, beside a host on the same model: it stands where the host does, has maxima of its own, and works in the
 * host's memory, with the starts that the host has or is given. The host goes last; one thread at a time may use any of them. */
VB_API vb_status vb_solver_new_beside(vb_solver* host, vb_solver** solver);
VB_API void vb_solver_free(vb_solver* solver);

typedef struct vb_starts {
    const double* fixed;   /* (num_fixed, free) finite: points y to start from */
    int64_t num_fixed;
    const double* best;    /* (free,) the y that is best for the controller everywhere, or null */
    const int64_t* pairs;  /* (num_pairs,) pairs in the order in which they are tried */
    int64_t num_pairs;
} vb_starts;

/* Where searches start from; copied. To be called once, before the first search; refused a second time. */
VB_API vb_status vb_solver_set_starts(vb_solver* solver, const vb_starts* starts);

/* Each of these maximises and returns how the incumbent's last climb ended (VB_OK to VB_OUT_OF_TIME), or VB_BAD_ARGUMENT. */
VB_API vb_status vb_solver_climb(vb_solver* solver, const vb_objective* objective);  /* from where it stands */
VB_API vb_status vb_solver_search(vb_solver* solver, const vb_objective* objective); /* from everywhere */
VB_API vb_status vb_solver_follow(vb_solver* solver, const vb_objective* objective); /* from its maxima and one start more */
VB_API vb_status vb_solver_climb_from_few(vb_solver* solver, const vb_objective* objective); /* and from two starts */
VB_API vb_status vb_solver_add_start(vb_solver* solver, const vb_objective* objective, const double* theta); /* from theta, too */

/* Climbs from where another solver for the same model stands, whose first survey counts for this one, too. */
VB_API vb_status vb_solver_join(vb_solver* solver, const vb_objective* objective, const vb_solver* other);

/* Stands at theta (d,) alone, moved inside the feasible set; theta must be finite, here and above. */
VB_API vb_status vb_solver_stand_at(vb_solver* solver, const double* theta);

/* Makes the incumbent's policy and V optimal for its theta. */
VB_API vb_status vb_solver_plan(vb_solver* solver);

/* Where the maxima lie. Row 0 is the incumbent, the last row scratch; rows = places + 1. */
typedef struct vb_solver_view {
    double* y;            /* (rows, free) */
    double* theta;        /* (rows, d) */
    double* V;            /* (rows, S) */
    int64_t* policy;      /* (rows, S) */
    int64_t* active;      /* (rows, free) facets on which the last program ended, block by block */
    int64_t* num_active;  /* (rows, blocks) */
    double* result;       /* (rows, 3) objective, relative KKT residual, gap */
    int32_t* status;      /* (rows,) how the last climb ended; before the first VB_NO_START */
    int32_t* iterations;  /* (rows,) of the last climb */
    uint8_t* evaluated;   /* (rows,) whether V and policy belong to theta */
    uint8_t* factored;    /* (rows,) whether `factors` belong to the active facets */
    double* factors;      /* (rows, factor_size) what the last quadratic program left, or null */
    int64_t factor_size;  /* 2 free^2, or 0 where factors are not kept */
    int64_t size;         /* maxima held */
    int64_t turn;         /* how often it has followed */
    int64_t climbs;       /* how often it has climbed, from wherever, since it was made */
} vb_solver_view;
VB_API vb_status vb_solver_look(vb_solver* solver, vb_solver_view* view);

/* Takes over what was written into the fields, after checking it; theta, and all that follows from it, is recomputed.
 * Where it is refused the solver stands at the interior point, as if it were new. */
VB_API vb_status vb_solver_restore(vb_solver* solver, int64_t size, int64_t turn);

#ifdef __cplusplus
}
#endif

#endif
