#include "common/clock.hpp"

#include <time.h>

#include "common/numbers.hpp"

namespace vb {

namespace {

thread_local double due = kInfinity;  // on the clock below
thread_local bool passed = false;

double now() {
    timespec at = {};
#if defined(CLOCK_MONOTONIC)
    clock_gettime(CLOCK_MONOTONIC, &at);
#else
    timespec_get(&at, TIME_UTC);
#endif
    return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

}  // namespace

void give_seconds(double seconds) {
    due = seconds == kInfinity ? kInfinity : now() + seconds;
    passed = false;
}

bool time_is_up() {
    if (due == kInfinity) return false;
    passed = passed || now() >= due;
    return passed;
}

}  // namespace vb
