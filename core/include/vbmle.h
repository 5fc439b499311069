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
 *
 * One header for each subject:
 */
#ifndef VBMLE_H
#define VBMLE_H

#include "vbmle/library.h"           /* statuses, the version */
#include "vbmle/model.h"             /* models */
#include "vbmle/tuning.h"            /* constants; factors or sweeps */
#include "vbmle/planning.h"          /* plans, on a model and for one that is fully known */
#include "vbmle/solver.h"            /* counts, the objective, its maximiser */
#include "vbmle/certifying.h"        /* upper bounds */
#include "vbmle/linear_program.h"    /* linear programs over facets */
#include "vbmle/optimism.h"          /* optimistic plans, regression */
#include "vbmle/sampling.h"          /* posteriors */
#include "vbmle/judging.h"           /* policies judged by draws from a posterior */
#include "vbmle/tabular.h"           /* reward-biased rows */
#include "vbmle/bayes.h"             /* Bayes-optimal control of candidates */

#endif
