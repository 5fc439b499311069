// The elementary functions that the core needs, from the compiler itself: <cmath> brings the special functions with it,
// and would take half of the time of a build.
#pragma once

namespace vb {

inline double fabs(double x) { return __builtin_fabs(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline double log(double x) { return __builtin_log(x); }
inline double log1p(double x) { return __builtin_log1p(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }

}  // namespace vb
