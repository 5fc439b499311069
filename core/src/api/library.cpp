// What the library says about itself.

#include "common/clock.hpp"
#include "interface.hpp"
#include "vbmle.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// What a macro stands for, as text.
#define VB_TEXT(macro) VB_TEXT_OF(macro)
#define VB_TEXT_OF(text) #text

#if defined(VB_ZIG)
#define VB_COMPILER "zig " VB_TEXT(VB_ZIG)
#elif defined(__apple_build_version__)
#define VB_COMPILER "Apple clang " VB_TEXT(__clang_major__) "." VB_TEXT(__clang_minor__) "." VB_TEXT(__clang_patchlevel__)
#elif defined(__clang__)
#define VB_COMPILER "clang " VB_TEXT(__clang_major__) "." VB_TEXT(__clang_minor__) "." VB_TEXT(__clang_patchlevel__)
#elif defined(__GNUC__)
#define VB_COMPILER "gcc " __VERSION__
#else
#define VB_COMPILER "an unknown compiler"
#endif

#if defined(__AVX2__)
#define VB_PROCESSORS "x86-64-v3"
#elif defined(__x86_64__)
#define VB_PROCESSORS "x86-64"
#elif defined(__aarch64__)
#define VB_PROCESSORS "aarch64"
#else
#define VB_PROCESSORS "other processors"
#endif

namespace {

#if defined(__x86_64__)

constexpr bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }

// The system saves the wide registers when it switches between threads (XCR0, bits 1 and 2).
bool keeps_wide_registers() {
    unsigned low = 0;
    unsigned high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return has(low, 0b110);
}

// All that x86-64-v3 adds to the baseline. Asked of the processor itself: the compilers' own test for it needs
// a run-time library that is not always there.
bool runs_wide() {
    constexpr unsigned v2_and_v3 = bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT | bit_CMPXCHG16B |
                                   bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, v2_and_v3) || !keeps_wide_registers()) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, bit_AVX2 | bit_BMI | bit_BMI2)) return false;
    constexpr unsigned lahf_and_lzcnt = 1u << 0 | 1u << 5;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && has(c, lahf_and_lzcnt);
}

#else

bool runs_wide() { return false; }

#endif

}  // namespace

const char* vb_built_by() { return VB_COMPILER " for " VB_PROCESSORS; }

uint64_t vb_interface() { return VB_INTERFACE; }

void vb_give_seconds(double seconds) { vb::give_seconds(seconds); }

int32_t vb_time_is_up() { return vb::time_is_up() ? 1 : 0; }

int32_t vb_runs_wide() { return runs_wide() ? 1 : 0; }

const char* vb_status_text(vb_status status) {
    switch (status) {
        case VB_OK: return "done";
        case VB_STALLED: return "the objective no longer rises beyond rounding";
        case VB_NO_STEP: return "no direction of ascent was found";
        case VB_LINE_SEARCH_FAILED: return "the objective rises along no step of the direction";
        case VB_OUT_OF_ITERATIONS: return "the limit of iterations was reached";
        case VB_NO_START: return "no feasible point has a finite objective";
        case VB_OUT_OF_TIME: return "the time is up";
        case VB_NOT_CONVEX: return "a quadratic program is not strictly convex";
        case VB_INFEASIBLE: return "inequalities contradict each other";
        case VB_OUT_OF_MEMORY: return "memory has run out";
        case VB_BAD_ARGUMENT: return "a size, an index or a number is out of range";
        default: return "a status that the core does not know";
    }
}
