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

// max |a - b|
inline double largest_difference(const double* a, const double* b, Index n) {
    constexpr Index kLanes = 4;  // several at a time: a single maximum would wait for itself
    double largest[kLanes] = {};
    Index i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (Index k = 0; k < kLanes; ++k) largest[k] = larger(largest[k], std::fabs(a[i + k] - b[i + k]));
    }
    for (; i < n; ++i) largest[0] = larger(largest[0], std::fabs(a[i] - b[i]));
    return larger(larger(largest[0], largest[1]), larger(largest[2], largest[3]));
}

}  // namespace vb
