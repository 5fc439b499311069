#include "common/logarithm.hpp"

namespace vb {

namespace {

constexpr Index kTogether = 2 * kLanes;

// sums += weight log x, side by side
inline void add_logs(const double* weight, const double* x, double* sums) {
    for (Index k = 0; k < kTogether; ++k) sums[k] += weight[k] * log_ordinary(x[k]);
}

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
    std::uint64_t odd = 0;
    for (Index i = 0; i < n; ++i) odd |= oddness(x[i]);
    if (is_odd(odd)) return sum_one_by_one(weight, x, n);
    double sums[kTogether] = {};
    Index i = 0;
    for (; i + kTogether <= n; i += kTogether) add_logs(weight + i, x + i, sums);
    if (i < n) {  // the last few, with a weight of 0 for those that are missing
        double last_weight[kTogether] = {}, last[kTogether];
        copy(weight + i, n - i, last_weight);
        fill(last, kTogether, 1.0);
        copy(x + i, n - i, last);
        add_logs(last_weight, last, sums);
    }
    return sum(load(sums)) + sum(load(sums + kLanes));
}

}  // namespace vb
