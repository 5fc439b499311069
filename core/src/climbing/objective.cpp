#include "climbing/objective.hpp"

#include "common/logarithm.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

// sum n log p over what was observed; minus infinity where a p is not positive
double log_likelihood(const Objective& objective, const double* p) {
    double seen_n[tuning.batch_observed], seen_p[tuning.batch_observed];
    double total = 0.0;
    for (Index first = 0; first < objective.num_observed; first += tuning.batch_observed) {
        const Index count = smaller(objective.num_observed - first, tuning.batch_observed);
        double least = kInfinity;
        for (Index k = 0; k < count; ++k) {
            const Index i = objective.observed[first + k];
            seen_p[k] = p[i];
            seen_n[k] = objective.counts[i];
            least = p[i] > least ? least : p[i];
        }
        if (!(least > 0.0)) return -kInfinity;
        total += weighted_log_sum(seen_n, seen_p, count);
    }
    return total;
}

}  // namespace

double concave_part(const Problem& problem, const Point& at) {
    const Objective& objective = problem.objective;
    const Index d = problem.set.dimension;
    double f = log_likelihood(objective, at.p);
    f -= 0.5 * objective.ridge * dot(at.theta, at.theta, d);
    if (objective.linear != nullptr) f += dot(objective.linear, at.theta, d);
    return f;
}

void find_observed_p(const Problem& problem, Point& at) {
    const Objective& objective = problem.objective;
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        at.p[i] = problem.model.features.along(i, at.theta);
    }
}

double evaluate_at_p(const Problem& problem, Point& at, Planner& planner, double precision) {
    at.evaluated = false;
    double f = concave_part(problem, at);
    if (f == -kInfinity) return f;
    const Objective& objective = problem.objective;
    if (objective.bias > 0.0) {
        if (objective.held) {
            held_value(planner, at.valuation(), precision);
        } else {
            optimal_value(planner, at.valuation(), precision);
        }
        f += objective.bias * at.V[objective.state];
        at.evaluated = !objective.held;
    }
    return f;
}

double evaluate(const Problem& problem, Point& at, Planner& planner, double precision) {
    probabilities(problem.model.features, at.theta, at.p);
    return evaluate_at_p(problem, at, planner, precision);
}

double evaluate_again(const Problem& problem, const Point& at) {
    const Objective& objective = problem.objective;
    const double f = concave_part(problem, at);
    return objective.bias > 0.0 ? f + objective.bias * at.V[objective.state] : f;
}

double rounding_error(const Problem& problem, double f, double error) {
    return tuning.climb_rounding * (1.0 + vb::fabs(f)) + problem.objective.bias * error;
}

Slope make_slope(Arena& arena, const Model& model, const FeasibleSet& set) {
    Slope slope;
    slope.in_theta = arena.take<double>(set.dimension);
    slope.of_value = arena.take<double>(set.dimension);
    slope.in_y = arena.take<double>(set.num_free);
    slope.visits = arena.take<double>(model.num_states);
    return slope;
}

void add_value_gradient(const Model& model, const Valuation& at, double weight, const double* w, double* g) {
    double scale[tuning.batch];
    for (Index s = 0; s < model.num_states; ++s) {
        if (w[s] == 0.0) continue;
        const Index pair = model.pair(s, at.policy[s]), end = model.pair_begin[pair + 1];
        const double own = weight * w[s];
        for (Index first = model.pair_begin[pair]; first < end; first += tuning.batch) {
            const Index last = smaller(first + tuning.batch, end);
            for (Index i = first; i < last; ++i) scale[i - first] = own * model.gain(i, at.V);
            add_some(model.features, first, last, scale, g);
        }
    }
}

void find_slope(const Problem& problem, const Point& at, Planner& planner, double precision, Slope& slope) {
    const Objective& objective = problem.objective;
    const Index d = problem.set.dimension;
    double* g = slope.in_theta.data;
    for (Index j = 0; j < d; ++j) g[j] = -objective.ridge * at.theta[j];
    if (objective.linear != nullptr) add_scaled(1.0, objective.linear, d, g);
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        problem.model.features.add(i, objective.counts[i] / at.p[i], g);
    }
    if (objective.bias > 0.0) {
        occupancy(planner, at.valuation(), {objective.state, precision, slope.has_visits}, slope.visits.data);
        slope.has_visits = true;
        fill(slope.of_value.data, d, 0.0);
        add_value_gradient(problem.model, at.valuation(), objective.bias, slope.visits.data, slope.of_value.data);
        add_scaled(1.0, slope.of_value.data, d, g);
    }
    reduce(problem.set, g, slope.in_y.data);
    slope.size = larger(1.0, largest_size(g, d));
}

}  // namespace vb
