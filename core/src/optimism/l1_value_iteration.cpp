#include "optimism/l1_value_iteration.hpp"

#include "common/tuning.hpp"
#include "linalg/lu.hpp"
#include "planning/chain.hpp"
#include "planning/method.hpp"

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

// next = T V and a greedy policy; the range of T V - V.
Range sweep(L1Optimist& optimist, const double* radius) {
    const Model& model = *optimist.model;
    Range change{kInfinity, -kInfinity};
    for (Index s = 0; s < model.num_states; ++s) {
        double best = 0.0;
        for (Index a = 0; a < model.num_actions; ++a) {
            const Index pair = model.pair(s, a);
            const double q = best_value(optimist, pair, radius[pair]);
            const double margin = best == -kInfinity ? 0.0 : tuning.l1_tie * vb::fabs(best);  // nothing allowed so far
            if (a == 0 || q > best + margin) optimist.policy[s] = a;
            best = a == 0 ? q : larger(best, q);
        }
        optimist.next[s] = best;
        change.low = smaller(change.low, best - optimist.V[s]);
        change.high = larger(change.high, best - optimist.V[s]);
    }
    return change;
}

// V of the greedy policy in the best models as of the last sweep, held fixed: (I - gamma P) V = R.
void solve_held(L1Optimist& optimist, const double* radius) {
    const Model& model = *optimist.model;
    const Index n = model.num_states;
    fill(optimist.lu.data, n * n, 0.0);
    for (Index s = 0; s < n; ++s) {
        const Index pair = model.pair(s, optimist.policy[s]);
        RankedSuccessors own = optimist.successors.of(model.pair_begin[pair], model.pair_begin[pair + 1]);
        double* row = optimist.lu[s];
        double reward = model.reward[pair];
        if (own.count > 0) {
            best_weights(own, radius[pair], own.gain);  // gains are made anew in every sweep
            if (own.reward != nullptr) reward += dot(own.gain, own.reward, own.count);
            for (Index j = 0; j < own.count; ++j) row[own.state[j]] -= model.discount * own.gain[j];
        }
        row[s] += 1.0;
        optimist.V[s] = reward;
    }
    lu_factor(optimist.lu);
    lu_solve(optimist.lu, optimist.V.data);
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
    if (method_for_l1_plans(model) == Method::factors) optimist.lu = arena.matrix(model.num_states, model.num_states);
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
        if (optimist.sweeps > 0 && !optimist.lu.empty()) solve_held(optimist, radius);
        const Range change = sweep(optimist, radius);
        // T V + factor * [low, high] holds the fixed point (MacQueen), so that the upper end bounds it, too.
        for (Index s = 0; s < optimist.V.size; ++s) optimist.V[s] = optimist.next[s] + factor * change.high;
        optimist.error_bound = factor * (change.high - change.low);
        ++optimist.sweeps;
        if (optimist.error_bound <= limits.tolerance) {
            optimist.status = Status::converged;
            return;
        }
    }
}

}  // namespace vb
