// Values and visits by sweeps, for models that are too large for dense factors. Each promises its error.
//
// MacQueen: with [low, high] the range of T V - V, V* - T V lies in gamma/(1-gamma) [low, high]. V is set to the middle of
// it, and half of its width is the error that is promised and returned. The same holds for one policy and its V.
#pragma once

#include "common/tuning.hpp"
#include "planning/planner.hpp"

namespace vb {

struct SweepLimits {
    double tolerance;   // the error of V that is asked for
    Index inner = 20;   // sweeps of the policy at hand between two Bellman sweeps of all pairs
    Index most = tuning.sweep_limit;
};

// V within the error that is returned of V*: the tolerance, or more where sweeps run out (MacQueen's bounds).
double modified_policy_iteration(Planner& planner, const double* p, SweepLimits limits, Index* policy, double* V);

// The same after a Bellman sweep of all pairs, out of V in planner.next and with planner.Q, of which this was the change.
double continue_iteration(Planner& planner, const double* p, SweepLimits limits, Range first, Index* policy, double* V);

// V becomes V^pi to within the error that is returned.
double evaluate_by_sweeps(Planner& planner, const double* p, SweepLimits limits, const Index* policy, double* V);

// Every column of X becomes (I - gamma P_pi)^{-1} x, to that part of the largest it can be (columns.cpp).
void solve_by_sweeps(Planner& planner, const double* p, const Index* policy, Matrix X, double accuracy);

// w = (I - gamma P_pi')^{-1} e_state (occupancy.cpp).
void occupancy_by_sweeps(Planner& planner, const Valuation& at, const Visits& wanted, double* w);

}  // namespace vb
