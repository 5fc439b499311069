// Planning once for a model that is fully known: probabilities and rewards, no features around them.
#pragma once

#include "common/status.hpp"
#include "planning/planner.hpp"

namespace vb {

// Where a plan goes, and what is said of it.
struct KnownPlan {
    double* V = nullptr;       // (S,)
    double* Q = nullptr;       // (pairs,)
    Index* policy = nullptr;   // (S,)
    double error = kInfinity;  // of V
    Index broken_pair = -1;    // the first pair that is no distribution: then there is no plan
};

// Whether rewards are finite, or minus infinity, and every state has an action that is allowed.
bool rewards_fit(const Model& model);

// V within the tolerance of V*, or within what rounding allows: by sweeps, and by factors where there are few states or
// sweeps take long. `model` needs no features; without a pattern p is the (pairs, S) matrix P, otherwise (transitions,).
Status plan_known(const Model& model, const double* p, double tolerance, KnownPlan& plan);

}  // namespace vb
