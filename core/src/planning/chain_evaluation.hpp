// V = gain + gamma P_pi V again and again, faster where a chain mixes slowly.
#pragma once

#include "planning/planner.hpp"

namespace vb {

inline constexpr Index kWatch = 16;  // sweeps after which the speed of convergence is looked at

// Values and the place for the next ones.
struct Values {
    double* now;
    double* other;

    void swap() {
        double* kept = now;
        now = other;
        other = kept;
    }
};

// Whether, at the speed of the last sweeps, so many more are ahead that Krylov's way is shorter.
bool takes_long(double before, double spread, Index sweeps, double enough);

// `most` sweeps, or until all of V grows alike to within `enough`; the range of the last change.
Range repeat(const Chain& chain, const double* gain, Values& V, Index most, double enough);

// The same until it is enough, by Krylov's way where sweeps alone would take long.
Range evaluate_chain(Planner& planner, const double* gain, Values& V, Index most, double enough);

}  // namespace vb
