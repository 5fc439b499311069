#include "certifying/vertices.hpp"

#include "common/logarithm.hpp"
#include "planning/policy_iteration.hpp"

namespace vb {

namespace {

Matrix unfilled(Arena& arena, Index rows, Index cols) {
    return {arena.take_unfilled<double>(rows * cols).data, rows, cols};
}

double objective_at(const Objective& objective, const Vertices& vertices, Index v) {
    const double *theta = vertices.theta[v], *p = vertices.p[v];
    double f = objective.bias * vertices.V[v][objective.state];
    f -= 0.5 * objective.ridge * dot(theta, theta, vertices.theta.cols);
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        if (!(p[i] > 0.0)) return -kInfinity;
        f += objective.counts[i] * log_of(p[i]);
    }
    return f;
}

}  // namespace

Vertices make_vertices(Arena& arena, const Problem& problem, Index room) {
    const Index states = problem.model.num_states;
    Vertices vertices;
    vertices.room = room;
    vertices.y = unfilled(arena, room, problem.set.num_free);
    vertices.theta = unfilled(arena, room, problem.set.dimension);
    vertices.p = unfilled(arena, room, problem.model.num_transitions);
    vertices.V = unfilled(arena, room, states);
    vertices.policy = {arena.take_unfilled<Index>(room * states).data, room, states};
    return vertices;
}

double add_vertex(const Problem& problem, Planner& planner, Matrix lu, Vertices& vertices) {
    const Index v = vertices.count++;
    double* p = vertices.p[v];
    assemble(problem.set, vertices.y[v], vertices.theta[v]);
    probabilities(problem.model.features, vertices.theta[v], p);
    for (Index i = 0; i < vertices.p.cols; ++i) p[i] = larger(p[i], 0.0);
    policy_iteration(planner, {p, vertices.policy[v], vertices.V[v], lu});
    return objective_at(problem.objective, vertices, v);
}

}  // namespace vb
