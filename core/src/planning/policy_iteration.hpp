// Policy iteration by dense factors: exact up to rounding.
#pragma once

#include "planning/planner.hpp"

namespace vb {

// V becomes the policy's exact value; planner.lu keeps the factors of I - gamma P_pi.
void evaluate_by_factors(Planner& planner, const double* p, const Index* policy, double* V);

// Exact V* and policy from the given policy on; returns max |T V - V|. planner.lu belongs to the final policy.
double policy_iteration(Planner& planner, const double* p, Index* policy, double* V);

}  // namespace vb
