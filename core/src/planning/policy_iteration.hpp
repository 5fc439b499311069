// Policy iteration by dense factors: exact up to rounding.
#pragma once

#include "planning/planner.hpp"

namespace vb {

// V becomes the policy's exact value, lu the factors of I - gamma P_pi.
void evaluate_by_factors(const Planner& planner, const Valuation& at);

// Exact V* and policy from the given policy on; returns max |T V - V|. The factors are those of the final policy.
double policy_iteration(Planner& planner, const Valuation& at);

}  // namespace vb
