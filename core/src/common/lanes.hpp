// Four doubles at a time, in one wide register or in two narrow ones, and sums in an order that every compiler keeps.
//
// The core is compiled without leave to reorder or to fuse: what is written is what is computed, by every compiler. Two
// things are asked for by name where they pay:
// - sums of many terms go to lanes that are added at the end (sum, lane_sum): the same lanes on every processor;
// - a multiplication and an addition are one instruction, rounded once, where the processor has it (fused).
#pragma once

#include "common/view.hpp"

// Before a loop whose number of turns is known: all of them are written out.
#if defined(__clang__)
#define VB_UNROLL _Pragma("unroll")
#else
#define VB_UNROLL _Pragma("GCC unroll 16")
#endif

namespace vb {

inline constexpr Index kLanes = 4;

// a * b + c. Whether it is rounded once depends on the processor that the core is compiled for, and on nothing else.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
inline double fused(double a, double b, double c) { return a * b + c; }
#endif

#if defined(__AVX__)

typedef double Lanes __attribute__((vector_size(32)));
typedef double LooseLanes __attribute__((vector_size(32), aligned(8), may_alias));  // anywhere in memory
typedef long long WholeLanes __attribute__((vector_size(32)));

inline Lanes load(const double* from) { return *reinterpret_cast<const LooseLanes*>(from); }
inline void store(const Lanes& value, double* to) { *reinterpret_cast<LooseLanes*>(to) = value; }
inline Lanes all(double value) { return Lanes{value, value, value, value}; }
inline Lanes least(const Lanes& a, const Lanes& b) { return a < b ? a : b; }
inline Lanes greatest(const Lanes& a, const Lanes& b) { return a > b ? a : b; }

inline Lanes fused(const Lanes& a, const Lanes& b, const Lanes& c) {
#if !defined(__FMA__)
    return a * b + c;
#elif __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#else
    return __builtin_ia32_vfmaddpd256(a, b, c);
#endif
}

// `inside` at the places with low < first + place < high, `outside` at the others
inline Lanes between(Index first, Index low, Index high, const Lanes& inside, const Lanes& outside) {
    const WholeLanes place = WholeLanes{0, 1, 2, 3} + first;
    const WholeLanes within = (place > low) & (place < high);
    return within ? inside : outside;
}

#else

typedef double HalfLanes __attribute__((vector_size(16)));
typedef double LooseHalf __attribute__((vector_size(16), aligned(8), may_alias));

struct Lanes {
    HalfLanes low, high;

    double operator[](Index i) const { return i < 2 ? low[i] : high[i - 2]; }
    Lanes& operator+=(const Lanes& other) {
        low += other.low;
        high += other.high;
        return *this;
    }
    Lanes& operator-=(const Lanes& other) {
        low -= other.low;
        high -= other.high;
        return *this;
    }
};

inline Lanes operator+(const Lanes& a, const Lanes& b) { return {a.low + b.low, a.high + b.high}; }
inline Lanes operator-(const Lanes& a, const Lanes& b) { return {a.low - b.low, a.high - b.high}; }
inline Lanes operator*(const Lanes& a, const Lanes& b) { return {a.low * b.low, a.high * b.high}; }
inline Lanes operator*(double a, const Lanes& b) { return {a * b.low, a * b.high}; }
inline Lanes operator*(const Lanes& a, double b) { return b * a; }
inline Lanes operator/(const Lanes& a, double b) { return {a.low / b, a.high / b}; }

inline Lanes load(const double* from) {
    return {*reinterpret_cast<const LooseHalf*>(from), *reinterpret_cast<const LooseHalf*>(from + 2)};
}
inline void store(const Lanes& value, double* to) {
    *reinterpret_cast<LooseHalf*>(to) = value.low;
    *reinterpret_cast<LooseHalf*>(to + 2) = value.high;
}
inline Lanes all(double value) { return {HalfLanes{value, value}, HalfLanes{value, value}}; }
inline Lanes least(const Lanes& a, const Lanes& b) {
    return {a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}
inline Lanes greatest(const Lanes& a, const Lanes& b) {
    return {a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

inline HalfLanes fused(const HalfLanes& a, const HalfLanes& b, const HalfLanes& c) {
#if !defined(__ARM_FEATURE_FMA)
    return a * b + c;
#elif __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#else
    return HalfLanes{fused(a[0], b[0], c[0]), fused(a[1], b[1], c[1])};
#endif
}
inline Lanes fused(const Lanes& a, const Lanes& b, const Lanes& c) {
    return {fused(a.low, b.low, c.low), fused(a.high, b.high, c.high)};
}

inline Lanes between(Index first, Index low, Index high, const Lanes& inside, const Lanes& outside) {
    double chosen[kLanes];
    for (Index j = 0; j < kLanes; ++j) chosen[j] = low < first + j && first + j < high ? inside[j] : outside[j];
    return load(chosen);
}

#endif

inline Lanes fused(double a, const Lanes& b, const Lanes& c) { return fused(all(a), b, c); }

inline double sum(const Lanes& value) { return (value[0] + value[1]) + (value[2] + value[3]); }

// The sum of term(i) over i < n: eight sums side by side, which a compiler may put into lanes, then one after another.
template <class Term>
inline double lane_sum(Index n, Term term) {
    constexpr Index kWide = 2 * kLanes;
    double sums[kWide] = {};
    Index i = 0;
    for (; i + kWide <= n; i += kWide) {
        for (Index k = 0; k < kWide; ++k) sums[k] += term(i + k);
    }
    double total = sum(load(sums)) + sum(load(sums + kLanes));
    for (; i < n; ++i) total += term(i);
    return total;
}

}  // namespace vb
