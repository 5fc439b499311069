#include "planning/sweeps.hpp"

#include "planning/bellman.hpp"

namespace vb {

namespace {

constexpr double kEnough = 0.1;  // a policy is evaluated until the spread of changes is this part of what it was
constexpr Index kMostSweeps = 1000000;

double carried(double discount) { return discount / (1.0 - discount); }

// The policy's rows of gamma P, one after another.
void follow(Planner& planner, const double* p, const Index* policy) {
    const Model& model = *planner.model;
    Chain& chain = planner.chain;
    Index at = 0;
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, policy[s]);
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i, ++at) {
            chain.successor[at] = model.successor[i];
            chain.weight[at] = model.discount * p[i];
        }
        chain.end[s] = static_cast<std::int32_t>(at);
    }
}

// out = gain + gamma P_pi V; the range of out - V
Range chain_sweep(const Chain& chain, const double* gain, const double* V, double* out) {
    Range change{kInfinity, -kInfinity};
    std::int32_t at = 0;
    for (Index s = 0; s < chain.end.size; ++s) {
        double total = gain[s];
        for (; at < chain.end[s]; ++at) total += chain.weight[at] * V[chain.successor[at]];
        out[s] = total;
        change.low = smaller(change.low, total - V[s]);
        change.high = larger(change.high, total - V[s]);
    }
    return change;
}

// V = gain + gamma P_pi V `times` times, or until all of V grows alike to within `enough`.
Range repeat(Planner& planner, const double* gain, double* V, Index times, double enough) {
    Range change{-kInfinity, kInfinity};
    for (Index k = 0; k < times; ++k) {
        change = chain_sweep(planner.chain, gain, V, planner.next.data);
        copy(planner.next.data, planner.next.size, V);
        if (change.high - change.low <= enough) break;
    }
    return change;
}

// V = T_pi V again and again, from the rewards of all pairs.
Range repeat_policy(Planner& planner, const double* p, const double* reward, const Index* policy, double* V, Index times, double enough) {
    const Model& model = *planner.model;
    follow(planner, p, policy);
    for (Index s = 0; s < model.num_states; ++s) planner.gain[s] = reward[model.pair(s, policy[s])];
    return repeat(planner, planner.gain.data, V, times, enough);
}

}  // namespace

double modified_policy_iteration(Planner& planner, const double* p, SweepLimits limits, Index* policy, double* V) {
    const Index states = planner.model->num_states;
    const double factor = carried(planner.model->discount);
    Index sweeps = 0;
    while (true) {
        double* other = planner.next.data;
        const Range change = bellman_sweep(planner, p, V, other, policy);
        const double spread = change.high - change.low, middle = 0.5 * factor * (change.high + change.low);
        for (Index s = 0; s < states; ++s) V[s] = other[s] + middle;
        sweeps += 1 + limits.inner;
        if (0.5 * factor * spread <= limits.tolerance || sweeps >= limits.most) return 0.5 * factor * spread;
        const double* reward = planner.reward.empty() ? planner.model->reward : planner.reward.data;
        repeat_policy(planner, p, reward, policy, V, limits.inner, kEnough * spread);
    }
}

double evaluate_by_sweeps(Planner& planner, const double* p, SweepLimits limits, const Index* policy, double* V) {
    const double factor = carried(planner.model->discount);
    const double* reward = expected_rewards(planner, p);
    const Range change = repeat_policy(planner, p, reward, policy, V, limits.most, 2.0 * limits.tolerance / factor);
    for (Index s = 0; s < planner.model->num_states; ++s) V[s] += 0.5 * factor * (change.high + change.low);
    return 0.5 * factor * (change.high - change.low);
}

void solve_by_sweeps(Planner& planner, const double* p, const Index* policy, Matrix X, double accuracy) {
    const double discount = planner.model->discount, factor = carried(discount);
    const Index states = X.rows;
    follow(planner, p, policy);
    for (Index j = 0; j < X.cols; ++j) {
        for (Index s = 0; s < states; ++s) planner.gain[s] = X[s][j];
        copy(planner.gain.data, states, planner.rest.data);
        const double enough = 2.0 * accuracy * largest_size(planner.gain.data, states) / discount;
        const Range change = repeat(planner, planner.gain.data, planner.rest.data, kMostSweeps, enough);
        for (Index s = 0; s < states; ++s) X[s][j] = planner.rest[s] + 0.5 * factor * (change.high + change.low);
    }
}

void occupancy_by_sweeps(Planner& planner, const double* p, const Index* policy, Index state, double* w) {
    const Index states = planner.model->num_states;
    const double discount = planner.model->discount, rest_of_time = 1.0 - discount;
    const double tolerance = sweep_precision(discount);
    const Chain& chain = planner.chain;
    double *rest = planner.rest.data, *following = planner.next.data;
    follow(planner, p, policy);
    fill(rest, states, 0.0);
    fill(w, states, 0.0);
    rest[state] = 1.0;
    while (true) {
        fill(following, states, 0.0);
        std::int32_t at = 0;
        for (Index s = 0; s < states; ++s) {
            if (rest[s] != 0.0) {
                for (Index i = at; i < chain.end[s]; ++i) following[chain.successor[i]] += chain.weight[i] * rest[s];
            }
            at = chain.end[s];
        }
        double mass = 0.0, change = 0.0;
        for (Index s = 0; s < states; ++s) {
            mass += std::fabs(rest[s]);
            change += std::fabs(following[s] - discount * rest[s]);
        }
        if (mass <= tolerance * rest_of_time) return;
        const bool steady = change <= tolerance * rest_of_time * rest_of_time;
        add_scaled(steady ? 1.0 / rest_of_time : 1.0, rest, states, w);
        if (steady) return;
        double* swap = rest;
        rest = following;
        following = swap;
    }
}

}  // namespace vb
