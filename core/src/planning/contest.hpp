// Actions that may still be optimal, while a plan is found by sweeps.
//
// After a Bellman sweep V* lies in T V + gamma/(1-gamma) [low, high], the range of T V - V (MacQueen). So an action
// whose Q for V is below T V by more than the width of that interval can never be optimal, and later sweeps leave it out.
// What stays contested is little, soon: then a Bellman sweep costs hardly more than a sweep of one policy.
#pragma once

#include "common/view.hpp"

namespace vb {

struct Planner;

// The pairs of all states where more than one action may be optimal, in order.
struct Contest {
    View<std::int32_t> pair;  // room for all pairs
    Index count = 0;
    bool everything = true;  // nothing has been ruled out so far
};

// Rules out pairs whose planner.Q is below best, (S,), by more than `width`; what was ruled out before stays so.
void rule_out(Planner& planner, const double* best, double width);

// out = T V over what is contested: `out` holds T_pi V on entry. Sets planner.Q of those pairs, and the policy.
void settle_contest(Planner& planner, const double* p, const double* reward, const double* V, double* out, Index* policy);

}  // namespace vb
