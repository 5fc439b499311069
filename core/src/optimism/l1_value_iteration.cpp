#include "optimism/l1_value_iteration.hpp"

namespace vb {

namespace {

// Successors in the order of the model.
void begin(L1Optimist& optimist, const double* estimate) {
    const Model& model = *optimist.model;
    copy(model.successor, model.num_transitions, optimist.successors.state);
    copy(estimate, model.num_transitions, optimist.successors.estimate);
    if (model.reward_next != nullptr) copy(model.reward_next, model.num_transitions, optimist.successors.reward);
    fill(optimist.V.data, model.num_states, 1.0 / (1.0 - model.discount));
}

// Q(s, a) at the best distribution of the ball.
double best_value(const L1Optimist& optimist, Index pair, double radius) {
    const Model& model = *optimist.model;
    RankedSuccessors own = optimist.successors.of(model.pair_begin[pair], model.pair_begin[pair + 1]);
    if (own.count == 0) return model.reward[pair];
    for (Index j = 0; j < own.count; ++j) own.gain[j] = model.discount * optimist.V[own.state[j]];
    if (own.reward != nullptr) add_scaled(1.0, own.reward, own.count, own.gain);
    rank(own);
    return model.reward[pair] + best_mean(own, radius);
}

// next = T V and a greedy policy; returns max |T V - V|.
double sweep(L1Optimist& optimist, const double* radius) {
    const Model& model = *optimist.model;
    double change = 0.0;
    for (Index s = 0; s < model.num_states; ++s) {
        double best = 0.0;
        for (Index a = 0; a < model.num_actions; ++a) {
            const Index pair = model.pair(s, a);
            const double q = best_value(optimist, pair, radius[pair]);
            if (a == 0 || q > best) {
                best = q;
                optimist.policy[s] = a;
            }
        }
        optimist.next[s] = best;
        change = larger(change, std::fabs(best - optimist.V[s]));
    }
    return change;
}

}  // namespace

L1Optimist make_l1_optimist(Arena& arena, const Model& model) {
    L1Optimist optimist;
    optimist.model = &model;
    optimist.V = arena.take<double>(model.num_states);
    optimist.next = arena.take<double>(model.num_states);
    optimist.policy = arena.take<Index>(model.num_states);
    RankedSuccessors& all = optimist.successors;
    all.count = model.num_transitions;
    all.state = arena.take<std::int32_t>(all.count).data;
    all.estimate = arena.take<double>(all.count).data;
    all.gain = arena.take<double>(all.count).data;
    if (model.reward_next != nullptr) all.reward = arena.take<double>(all.count).data;
    if (arena.failed()) return optimist;
    fill(optimist.V.data, model.num_states, 1.0 / (1.0 - model.discount));
    return optimist;
}

void plan_in_l1_balls(L1Optimist& optimist, const double* estimate, const double* radius, L1Limits limits) {
    const double discount = optimist.model->discount, factor = discount / (1.0 - discount);
    begin(optimist, estimate);
    optimist.status = Status::out_of_iterations;
    optimist.error_bound = factor;
    for (optimist.sweeps = 0; optimist.sweeps < limits.most;) {
        optimist.error_bound = factor * sweep(optimist, radius);
        copy(optimist.next.data, optimist.V.size, optimist.V.data);
        ++optimist.sweeps;
        if (optimist.error_bound <= limits.tolerance) {
            optimist.status = Status::converged;
            return;
        }
    }
}

}  // namespace vb
