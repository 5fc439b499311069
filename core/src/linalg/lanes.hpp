// Four doubles at a time, wherever the compiler puts them: one wide register, or two narrow ones.
#pragma once

#include "common/view.hpp"

namespace vb {

inline constexpr Index kLanes = 4;

typedef double Lanes __attribute__((vector_size(32)));
typedef double LooseLanes __attribute__((vector_size(32), aligned(8), may_alias));  // anywhere in memory

typedef long long WholeLanes __attribute__((vector_size(32)));                       // whole numbers beside them

inline constexpr WholeLanes kPlaces = {0, 1, 2, 3};

inline Lanes load(const double* from) { return *reinterpret_cast<const LooseLanes*>(from); }
inline void store(Lanes value, double* to) { *reinterpret_cast<LooseLanes*>(to) = value; }
inline double sum(Lanes value) { return (value[0] + value[1]) + (value[2] + value[3]); }

}  // namespace vb
