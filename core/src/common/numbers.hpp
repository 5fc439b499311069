// Constants and the few operations that every subject needs.
#pragma once

#include <limits>

#include "common/elementary.hpp"
#include "common/lanes.hpp"
#include "common/view.hpp"

namespace vb {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

inline double larger(double a, double b) { return a > b ? a : b; }
inline double smaller(double a, double b) { return a < b ? a : b; }
inline Index larger(Index a, Index b) { return a > b ? a : b; }
inline Index smaller(Index a, Index b) { return a < b ? a : b; }

inline double dot(const double* a, const double* b, Index n) {
    double total = 0.0;
    Index i = 0;
    if (n >= kLanes) {
        Lanes sums = {};
        for (; i + kLanes <= n; i += kLanes) sums = fused(load(a + i), load(b + i), sums);
        total = sum(sums);
    }
    for (; i < n; ++i) total = fused(a[i], b[i], total);
    return total;
}

// y += scale * x
inline void add_scaled(double scale, const double* x, Index n, double* y) {
    for (Index i = 0; i < n; ++i) y[i] = fused(scale, x[i], y[i]);
}

// out = base + sum_j x[j] * column_j, with columns of n numbers one after another: sixteen sums at a time stay in registers
inline void add_columns(const double* columns, Index n, const double* x, Index m, const double* base, double* out) {
    constexpr Index kWide = 16;
    Index i = 0;
    for (; i + kWide <= n; i += kWide) {
        double sums[kWide];
        for (Index k = 0; k < kWide; ++k) sums[k] = base == nullptr ? 0.0 : base[i + k];
        for (Index j = 0; j < m; ++j) {
            const double* column = columns + j * n + i;
            for (Index k = 0; k < kWide; ++k) sums[k] = fused(x[j], column[k], sums[k]);
        }
        for (Index k = 0; k < kWide; ++k) out[i + k] = sums[k];
    }
    for (; i < n; ++i) {
        double sum = base == nullptr ? 0.0 : base[i];
        for (Index j = 0; j < m; ++j) sum = fused(x[j], columns[j * n + i], sum);
        out[i] = sum;
    }
}

inline double largest_size(const double* x, Index n) {
    double largest = 0.0;
    for (Index i = 0; i < n; ++i) largest = larger(largest, vb::fabs(x[i]));
    return largest;
}

// max |a - b|
inline double largest_difference(const double* a, const double* b, Index n) {
    double largest[kLanes] = {};  // several at a time: a single maximum would wait for itself
    Index i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (Index k = 0; k < kLanes; ++k) largest[k] = larger(largest[k], vb::fabs(a[i + k] - b[i + k]));
    }
    for (; i < n; ++i) largest[0] = larger(largest[0], vb::fabs(a[i] - b[i]));
    return larger(larger(largest[0], largest[1]), larger(largest[2], largest[3]));
}

}  // namespace vb
