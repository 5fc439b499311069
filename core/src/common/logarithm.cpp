#include "common/logarithm.hpp"

namespace vb {

namespace {

// Where some x is zero, negative, subnormal or not finite.
double sum_one_by_one(const double* weight, const double* x, Index n) {
    double total = 0.0;
    for (Index i = 0; i < n; ++i) {
        if (x[i] <= 0.0) return -kInfinity;
        total += weight[i] * vb::log(x[i]);
    }
    return total;
}

}  // namespace

double weighted_log_sum(const double* weight, const double* x, Index n) {
    double total = 0.0;
    std::uint64_t odd = 0;
    for (Index i = 0; i < n; ++i) {
        odd |= oddness(x[i]);
        total += weight[i] * log_ordinary(x[i]);
    }
    return is_odd(odd) ? sum_one_by_one(weight, x, n) : total;
}

}  // namespace vb
