// How a computation ended. The numbers are those of vbmle.h, where each has its sentence.
#pragma once

#include <cstdint>

namespace vb {

enum class Status : std::int32_t {
    ok = 0,
    converged = 0,
    stalled = 1,
    no_step = 2,
    line_search_failed = 3,
    out_of_iterations = 4,
    no_start = 5,
    out_of_time = 6,
    not_convex = 7,
    infeasible = 8,
    out_of_memory = 20,
    bad_argument = 21,
};

// What a solver ends with.
struct Outcome {
    double objective = 0.0;
    double residual = 0.0;  // relative KKT residual
    double gap = 0.0;       // what a concave objective may still lack
    Status status = Status::ok;
    std::int32_t iterations = 0;
    bool abandoned = false;  // it was on its way to what is known, or to less
};

}  // namespace vb
