// A natural logarithm that loops can be vectorised over, within two units in the last place.
//
// With x = 2^k (1 + f), sqrt(1/2) < 1 + f < sqrt(2), and s = f / (2 + f) it is log x = k log 2 + log(1 + f), where
//
//     log(1 + f) = 2 s + s R(s^2),      R the polynomial of FDLIBM's log (Sun Microsystems, 1993).
//
// Nothing in it branches, looks up a table or calls the C library, so bits do not depend on the latter either.
#pragma once

#include <bit>
#include <cstdint>

#include "common/numbers.hpp"

namespace vb {

// The top bit is set unless x is ordinary: positive, finite and not subnormal. In sums of bits, since old processors
// cannot compare them in vectors.
inline std::uint64_t oddness(double x) {
    constexpr std::uint64_t least = 0x0010000000000000, most = 0x7fefffffffffffff;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    return (bits - least) | (most - bits);
}

inline bool is_odd(std::uint64_t oddness) { return oddness >> 63 != 0; }

// log x for an ordinary x; anything for others.
inline double log_ordinary(double x) {
    constexpr std::uint64_t root_half = 0x3fe6a09e00000000, one = 0x3ff0000000000000;
    constexpr std::uint64_t fraction = 0x000fffffffffffff;
    constexpr double shift = 4503599627370496.0 + 1023.0;  // 2^52 + the bias of exponents
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) + (one - root_half);
    const double k = std::bit_cast<double>((bits >> 52) | 0x4330000000000000) - shift;
    const double f = std::bit_cast<double>((bits & fraction) + root_half) - 1.0;
    const double s = f / (2.0 + f), z = s * s;
    double R = 1.479819860511658591e-01;
    R = fused(R, z, 1.531383769920937332e-01);
    R = fused(R, z, 1.818357216161805012e-01);
    R = fused(R, z, 2.222219843214978396e-01);
    R = fused(R, z, 2.857142874366239149e-01);
    R = fused(R, z, 3.999999999940941908e-01);
    R = fused(R, z, 6.666666666666735130e-01);
    const double half = 0.5 * f * f;
    const double small = fused(s, fused(R, z, half), k * 1.90821492927058770002e-10);  // the low part of log 2
    return fused(k, 6.93147180369123816490e-01, f - (half - small));
}

// log of any x, by the C library where x is not ordinary
inline double log_of(double x) { return is_odd(oddness(x)) ? vb::log(x) : log_ordinary(x); }

// sum of weight log x; minus infinity where an x is not positive
double weighted_log_sum(const double* weight, const double* x, Index n);

}  // namespace vb
