#include "climbing/objective.hpp"

#include "common/logarithm.hpp"

namespace vb {

namespace {

// sum n log p over what was observed; minus infinity where a p is not positive
double log_likelihood(const Objective& objective, const double* p, Workspace& work) {
    double total = 0.0;
    for (Index first = 0; first < objective.num_observed; first += kChunk) {
        const Index count = objective.num_observed - first < kChunk ? objective.num_observed - first : kChunk;
        double least = kInfinity;
        for (Index k = 0; k < count; ++k) {
            const Index i = objective.observed[first + k];
            work.seen_p[k] = p[i];
            work.seen_n[k] = objective.counts[i];
            least = p[i] > least ? least : p[i];
        }
        if (!(least > 0.0)) return -kInfinity;
        total += weighted_log_sum(work.seen_n.data, work.seen_p.data, count);
    }
    return total;
}

}  // namespace

double concave_part(const Problem& problem, const Point& at, Workspace& work) {
    const Objective& objective = problem.objective;
    const Index d = problem.set.dimension;
    double f = log_likelihood(objective, at.p, work);
    f -= 0.5 * objective.ridge * dot(at.theta, at.theta, d);
    if (objective.linear != nullptr) f += dot(objective.linear, at.theta, d);
    return f;
}

void seen_probabilities(const Problem& problem, Point& at) {
    const Objective& objective = problem.objective;
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        at.p[i] = problem.model.features.along(i, at.theta);
    }
}

double evaluate_at_p(const Problem& problem, Point& at, Workspace& work) {
    at.evaluated = false;
    double f = concave_part(problem, at, work);
    if (f == -kInfinity) return f;
    const Objective& objective = problem.objective;
    if (objective.bias > 0.0) {
        work.planner.lu = at.lu;
        if (objective.held) {
            held_value(work.planner, at.p, at.policy, at.V);
        } else {
            optimal_value(work.planner, at.p, at.policy, at.V);
        }
        f += objective.bias * at.V[objective.state];
        at.evaluated = !objective.held;
    }
    return f;
}

double evaluate(const Problem& problem, Point& at, Workspace& work) {
    probabilities(problem.model.features, at.theta, at.p);
    return evaluate_at_p(problem, at, work);
}

double evaluate_again(const Problem& problem, const Point& at, Workspace& work) {
    const Objective& objective = problem.objective;
    const double f = concave_part(problem, at, work);
    return objective.bias > 0.0 ? f + objective.bias * at.V[objective.state] : f;
}

double rounding_error(const Problem& problem, const Workspace& work, double f) {
    const double error = 1e-14 * (1.0 + vb::fabs(f));
    if (problem.objective.bias == 0.0 || work.planner.factors()) return error;
    return error + problem.objective.bias * (work.precision + work.planner.precision);
}

void add_value_gradient(Planner& planner, const double* p, const Index* policy, const double* V, ValueGradient out) {
    constexpr Index kTogether = 64;  // transitions
    const Model& model = *planner.model;
    double scale[kTogether];
    occupancy(planner, p, policy, out.state, out.w);
    for (Index s = 0; s < model.num_states; ++s) {
        if (out.w[s] == 0.0) continue;
        const Index pair = model.pair(s, policy[s]), end = model.pair_begin[pair + 1];
        const double weight = out.weight * out.w[s];
        for (Index first = model.pair_begin[pair]; first < end; first += kTogether) {
            const Index last = end - first < kTogether ? end : first + kTogether;
            for (Index i = first; i < last; ++i) scale[i - first] = weight * model.gain(i, V);
            add_some(model.features, first, last, scale, out.g);
        }
    }
}

void find_slope(const Problem& problem, const Point& at, Workspace& work) {
    const Objective& objective = problem.objective;
    const Index d = problem.set.dimension;
    double* g = work.gradient.data;
    for (Index j = 0; j < d; ++j) g[j] = -objective.ridge * at.theta[j];
    if (objective.linear != nullptr) add_scaled(1.0, objective.linear, d, g);
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        problem.model.features.add(i, objective.counts[i] / at.p[i], g);
    }
    if (objective.bias > 0.0) {
        work.planner.lu = at.lu;
        double* own = work.value_gradient.data;
        fill(own, d, 0.0);
        add_value_gradient(work.planner, at.p, at.policy, at.V, {objective.state, objective.bias, work.visits.data, own});
        add_scaled(1.0, own, d, g);
    }
    reduce(problem.set, g, work.slope.data);
    work.size = larger(1.0, largest_size(g, d));
}

}  // namespace vb
