// The value-biased objective and its gradient.
//
// Gradient of the bias by the envelope theorem: with w the discounted visits from the state on,
//     grad V*(state; theta) = sum_s w(s) sum_s' phi(s'|s,pi) (r(s,pi,s') + gamma V(s')).
#pragma once

#include "climbing/workspace.hpp"

namespace vb {

// f(theta); p, policy, V and lu are set on the way. Minus infinity where an observed p is not positive.
double evaluate(const Problem& problem, Point& at, Workspace& work);

// The same where p belongs to theta already.
double evaluate_at_p(const Problem& problem, Point& at, Workspace& work);

// The same where p, policy, V and lu all belong to theta: sums alone.
double evaluate_again(const Problem& problem, const Point& at, Workspace& work);

// Its part without value. Of p, the observed entries alone are read.
double concave_part(const Problem& problem, const Point& at, Workspace& work);

// Those entries of p, from theta.
void seen_probabilities(const Problem& problem, Point& at);

// By how much f as it was computed and f as it would be computed now may differ.
double rounding_error(const Problem& problem, const Workspace& work, double f);

// The gradient in theta and in y, from what `evaluate` left; also work.visits and work.size.
void find_slope(const Problem& problem, const Point& at, Workspace& work);

// g += weight * grad V(state), from p, policy, V and lu; w becomes the visits.
struct ValueGradient {
    Index state;
    double weight;
    double* w;  // (S,)
    double* g;  // (d,)
};
void add_value_gradient(Planner& planner, const double* p, const Index* policy, const double* V, ValueGradient out);

}  // namespace vb
