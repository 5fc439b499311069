#include "planning/planner.hpp"

#include "linalg/lu.hpp"
#include "planning/policy_iteration.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

constexpr double kPrecision = 1e-11;  // of the largest possible value, 1/(1-gamma)

// The most transitions that a policy can have.
Index longest_chain(const Model& model) {
    Index total = 0;
    for (Index s = 0; s < model.num_states; ++s) {
        Index most = 0;
        for (Index a = 0; a < model.num_actions; ++a) {
            const Index pair = model.pair(s, a);
            most = larger(most, model.pair_begin[pair + 1] - model.pair_begin[pair]);
        }
        total += most;
    }
    return total;
}

}  // namespace

Planner make_planner(Arena& arena, const Model& model, bool factors) {
    const Index states = model.num_states;
    Planner planner;
    planner.model = &model;
    planner.Q = arena.take<double>(model.num_pairs);
    if (model.reward_next != nullptr) planner.reward = arena.take<double>(model.num_pairs);
    planner.next = arena.take<double>(states);
    planner.rest = arena.take<double>(states);
    planner.gain = arena.take<double>(states);
    if (factors) {
        planner.lu = arena.matrix(states, states);
        return planner;
    }
    const Index most = longest_chain(model);
    planner.chain.end = arena.take<std::int32_t>(states);
    planner.chain.successor = arena.take<std::int32_t>(most);
    planner.chain.weight = arena.take<double>(most);
    return planner;
}

double sweep_precision(double discount) {
    const double rest = 1.0 - discount;
    return larger(kPrecision / rest, 4.0 * kEpsilon / (rest * rest));
}

double optimal_value(Planner& planner, const double* p, Index* policy, double* V) {
    const double discount = planner.model->discount;
    if (planner.factors()) return policy_iteration(planner, p, policy, V) / (1.0 - discount);
    return modified_policy_iteration(planner, p, {sweep_precision(discount)}, policy, V);
}

void held_value(Planner& planner, const double* p, const Index* policy, double* V) {
    if (planner.factors()) {
        evaluate_by_factors(planner, p, policy, V);
    } else {
        evaluate_by_sweeps(planner, p, {sweep_precision(planner.model->discount)}, policy, V);
    }
}

void solve_columns(Planner& planner, const double* p, const Index* policy, Matrix X, double accuracy) {
    if (planner.factors()) {
        lu_solve_columns(planner.lu, X);
    } else {
        solve_by_sweeps(planner, p, policy, X, accuracy);
    }
}

}  // namespace vb
