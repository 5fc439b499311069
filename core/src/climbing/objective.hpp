// The value-biased objective and its slope.
//
// Gradient of the bias by the envelope theorem: with w the discounted visits from the state on,
//     grad V*(state; theta) = sum_s w(s) sum_s' phi(s'|s,pi) (r(s,pi,s') + gamma V(s')).
#pragma once

#include "climbing/problem.hpp"

namespace vb {

// f(theta); p, policy, V and lu are set on the way, V to within `precision` where sweeps compute it. Minus infinity where an
// observed p is not positive.
double evaluate(const Problem& problem, Point& at, Planner& planner, double precision);

// The same where p belongs to theta already.
double evaluate_at_p(const Problem& problem, Point& at, Planner& planner, double precision);

// The same where p, policy, V and lu all belong to theta: sums alone.
double evaluate_again(const Problem& problem, const Point& at);

// Its part without value. Of p, the observed entries alone are read.
double concave_part(const Problem& problem, const Point& at);

// Those entries of p, from theta.
void find_observed_p(const Problem& problem, Point& at);

// By how much f, computed twice, may differ where V is off by no more than `error` in both together.
double rounding_error(const Problem& problem, double f, double error);

// The slope of f at a point.
struct Slope {
    Vector in_theta;  // (d,)
    Vector of_value;  // (d,) its part bias * V
    Vector in_y;      // (free,)
    Vector visits;    // (S,) discounted visits from the objective's state on
    bool has_visits = false;  // by sweeps, the next visits begin with these
    double size = 1.0;        // max(1, |in_theta|)
};

Slope make_slope(Arena& arena, const Model& model, const FeasibleSet& set);

// The slope where f was evaluated.
void find_slope(const Problem& problem, const Point& at, Planner& planner, double precision, Slope& slope);

// g += weight * grad V(state), with w the visits from that state on.
void add_value_gradient(const Model& model, const Valuation& at, double weight, const double* w, double* g);

}  // namespace vb
