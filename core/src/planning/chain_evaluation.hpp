// V = gain + gamma P_pi V, again and again: in order, which halves the sweeps, and by Krylov's way where a chain mixes
// slowly, or by sparse factors where they are cheaper still. What is promised comes from a plain sweep at the end.
#pragma once

#include "planning/planner.hpp"

namespace vb {

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

// Looks at the speed of convergence now and then.
struct Watch {
    double before = kInfinity;
    Index seen = 0;

    // Whether, at the speed of the last sweeps, so many more are ahead until `enough` that Krylov's way is shorter. Asked
    // after every sweep, with what is left.
    bool slow(double left, double enough);
};

// Forgets the chain before: these probabilities hold from now on.
void begin_evaluation(Planner& planner, const double* p);

// Finds the factors of the chain at hand, where they cost no more than so many sweeps; then they are in force until
// another evaluation begins.
bool go_directly(Planner& planner, double most);

// Sweeps until the spread of the residual is at most `enough`, or `most` were made; the number made. The last values are
// V.now. `find_order` was called.
Index approach(Planner& planner, const double* gain, Values& V, Index most, double enough);

// The same with one plain sweep at the end; the range of its change.
Range evaluate_chain(Planner& planner, const double* gain, Values& V, Index most, double enough);

}  // namespace vb
