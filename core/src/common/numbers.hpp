// Constants and the few operations that every subject needs.
#pragma once

#include <cmath>
#include <limits>

#include "common/view.hpp"

namespace vb {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

inline double larger(double a, double b) { return a > b ? a : b; }
inline double smaller(double a, double b) { return a < b ? a : b; }
inline Index larger(Index a, Index b) { return a > b ? a : b; }

inline double dot(const double* a, const double* b, Index n) {
    double total = 0.0;
    for (Index i = 0; i < n; ++i) total += a[i] * b[i];
    return total;
}

// y += scale * x
inline void add_scaled(double scale, const double* x, Index n, double* y) {
    for (Index i = 0; i < n; ++i) y[i] += scale * x[i];
}

inline double largest_size(const double* x, Index n) {
    double largest = 0.0;
    for (Index i = 0; i < n; ++i) largest = larger(largest, std::fabs(x[i]));
    return largest;
}

}  // namespace vb
