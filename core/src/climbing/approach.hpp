// How a climb goes about a model: what follows from the way policies are evaluated and from the size of P, decided once.
//
// By factors values are exact and cheap; by sweeps they are as exact as one asks, and they are what costs most.
#pragma once

#include "climbing/problem.hpp"

namespace vb {

// When the factors of a program are used again (polish.hpp).
struct Pace {
    double near;   // from this residual on ...
    double first;  // ... and what it has to be smaller than, times `quick`, for a first step ...
    double quick;  // ... while each step leaves at most this part of the residual
    Index faces;   // how often the face may change
};

struct Approach {
    double target;    // the relative residual at which a climb ends
    double finest;    // the least error of values that can be asked for: 0 where they are exact
    double roughest;  // the error of values where a climb begins
    bool bends;       // the value's curvature is used
    bool plans_cost_most;    // a start that is too steep moves to the most likely mixture, for which no plan is needed; and
                             // a search looks around half as often
    bool compares_policies;  // two climbs with the same policy on the way to one point will meet; by sweeps there are too many
                             // policies for two to be the same
    bool keeps_frame;        // the incumbent's last program serves, too, after one action was switched
    bool polishes_on;        // polishing goes on beyond the target, to the residual that exact values allow
    Pace pace;
};

Approach approach_for(const Model& model, const FeasibleSet& set, Method method);

}  // namespace vb
