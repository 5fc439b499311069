#include "common/logarithm.hpp"

#include <bit>

namespace vb {

namespace {

constexpr double kSmallestNormal = std::numeric_limits<double>::min();
constexpr double kLn2 = 0.693147180559945309417232121458;

// log x for a normal positive x, to a unit in the last place or two.
//
// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f), log(1 + f) = 2 artanh(s), whose series in
// s^2 (at most 0.0295) is summed to s^21.
inline double log_of(double x) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t shifted = bits + 0x00095f6200000000ULL;  // carries into the exponent from sqrt(2) on
    const std::uint64_t exponent = shifted >> 52;
    // The exponent as a double without a conversion: below 2^52 it is the last bits of 2^52 + exponent.
    const double k = std::bit_cast<double>(exponent | 0x4330000000000000ULL) - (4503599627370496.0 + 1023.0);
    const std::uint64_t mantissa = bits - ((exponent - 1023) << 52);
    const double f = std::bit_cast<double>(mantissa) - 1.0;
    const double s = f / (2.0 + f), z = s * s;
    double tail = 1.0 / 21.0;
    tail = tail * z + 1.0 / 19.0;
    tail = tail * z + 1.0 / 17.0;
    tail = tail * z + 1.0 / 15.0;
    tail = tail * z + 1.0 / 13.0;
    tail = tail * z + 1.0 / 11.0;
    tail = tail * z + 1.0 / 9.0;
    tail = tail * z + 1.0 / 7.0;
    tail = tail * z + 1.0 / 5.0;
    tail = tail * z + 1.0 / 3.0;
    return k * kLn2 + (2.0 * s + 2.0 * s * z * tail);
}

}  // namespace

double weighted_log_sum(const double* weight, const double* x, Index n) {
    double least = kInfinity, total = 0.0;
    for (Index i = 0; i < n; ++i) least = x[i] < least ? x[i] : least;
    if (least < kSmallestNormal) {
        for (Index i = 0; i < n; ++i) total += weight[i] * std::log(x[i]);
        return total;
    }
    for (Index i = 0; i < n; ++i) total += weight[i] * log_of(x[i]);
    return total;
}

}  // namespace vb
