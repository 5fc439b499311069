/* The constants of the solvers, and factors or sweeps. The conventions are in vbmle.h. */
#ifndef VBMLE_TUNING_H
#define VBMLE_TUNING_H

#include "vbmle/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The k-th number that was chosen, from 0 on: its name, its unit (what it is counted in, or a part of what it is), what happens
 * at it, and its value. The texts belong to the library and live as long as it; null, and NaN, after the last. */
VB_API const char* vb_constant_name(int64_t k);
VB_API const char* vb_constant_unit(int64_t k);
VB_API const char* vb_constant_meaning(int64_t k);
VB_API double vb_constant_value(int64_t k);

/* What policies are evaluated for. */
enum vb_purposes {
    VB_FOR_MANY_PLANS = 0, /* a planner, a solver or an optimist that is used again and again */
    VB_FOR_ONE_PLAN = 1,   /* one plan */
    VB_FOR_ONE_VALUE = 2   /* the value of one policy */
};

/* Whether policies of a model are evaluated by dense factors, 1, or by sweeps, 0: whichever is faster for a purpose. */
VB_API int32_t vb_factors_pay(const vb_model* model, int32_t purpose);

#ifdef __cplusplus
}
#endif

#endif
