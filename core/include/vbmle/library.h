/* Statuses, and the library itself. The conventions are in vbmle.h. */
#ifndef VBMLE_LIBRARY_H
#define VBMLE_LIBRARY_H

#include <stdint.h>

#if defined(_WIN32)
#define VB_API __declspec(dllexport)
#else
#define VB_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses: below 20 how a computation ended, from 20 on a call that was refused ------------------------------ */

typedef int32_t vb_status;

enum vb_statuses {
    VB_OK = 0,                 /* done; a solver: converged */
    VB_STALLED = 1,            /* the objective no longer rises beyond rounding */
    VB_NO_STEP = 2,            /* no direction of ascent was found */
    VB_LINE_SEARCH_FAILED = 3, /* the objective rises along no step of the direction */
    VB_OUT_OF_ITERATIONS = 4,  /* the limit of iterations was reached */
    VB_NO_START = 5,           /* no feasible point has a finite objective */
    VB_OUT_OF_TIME = 6,        /* the time that was given is up; what was reached by then */
    VB_NOT_CONVEX = 7,         /* a quadratic program is not strictly convex */
    VB_INFEASIBLE = 8,         /* inequalities contradict each other */
    VB_OUT_OF_MEMORY = 20,     /* memory has run out; nothing was made */
    VB_BAD_ARGUMENT = 21       /* a size, an index or a number is out of range; nothing was done */
};

/* ---- The library ------------------------------------------------------------------------------------------------- */

/* The version of this interface that the library was built with: a hash of all these headers, comments and layout left out,
 * which core/binding.py computes. The binding that it made from the same headers has the same number. */
VB_API uint64_t vb_interface(void);

/* What a status means, in words that can end a sentence; the text belongs to the library and lives as long as it. */
VB_API const char* vb_status_text(vb_status status);

/* The compiler that built the library, its version, and the processors it was built for: "gcc 12.2.0 for x86-64-v3". The
 * text belongs to the library. */
VB_API const char* vb_built_by(void);

/* Asks the library a few things whose answers are known: null if it knows them, else what it computes wrongly, as in "a
 * logarithm". Takes some microseconds; to be called once, before anything else. */
VB_API const char* vb_self_test(void);

/* Gives the calls of this thread so many seconds from now on, or, at first and with infinity, all the time. Climbs, searches and
 * sweeps look now and then whether they have passed, and end with what they have. */
VB_API void vb_give_seconds(double seconds);

/* 1 if those seconds have passed, else 0. */
VB_API int32_t vb_time_is_up(void);

/* 1 if this processor and its operating system can run the library for wide vectors (x86-64-v3), else 0. */
VB_API int32_t vb_runs_wide(void);

#ifdef __cplusplus
}
#endif

#endif
