#include "planning/sweeps.hpp"

#include "common/clock.hpp"
#include "common/tuning.hpp"
#include "planning/bellman.hpp"
#include "planning/chain_evaluation.hpp"
#include "planning/slow_chain.hpp"

namespace vb {

namespace {

double carried(double discount) { return discount / (1.0 - discount); }

// V.other = T V over what may be optimal, with its policy.
Range improve(Planner& planner, const double* p, const double* reward, Values V, Index* policy) {
    const Model& model = *planner.model;
    if (2 * planner.contest.count > model.num_pairs) {
        action_values_for(planner, p, reward, V.now);
        return greedy(model, planner.Q.data, V.now, V.other, policy);
    }
    chain_sweep(planner.chain, planner.chain.gain.data, V.now, V.other);
    settle_contest(planner, p, reward, V.now, V.other, policy);
    return change_between(V.now, V.other, model.num_states);
}

// What the policy's evaluation is to leave of the residual's spread before the next Bellman sweep. With nothing contested
// that one only confirms.
double enough_for(const Planner& planner, double spread, double settled) {
    if (planner.contest.count == 0) return settled;
    const double few = tuning.sweep_few_contested * static_cast<double>(planner.model->num_states);
    return (static_cast<double>(planner.contest.count) > few ? tuning.sweep_enough : tuning.sweep_enough_of_few) * spread;
}

// How an iteration gets on, in sweeps of one policy.
struct Progress {
    double so_far = 0.0;
    double before = kInfinity;  // the error before the last round

    // Whether, at the pace of the last round, which cost so much, factors are the shorter way.
    bool factors_pay(Planner& planner, double error, double tolerance, double cost) {
        const bool stuck = !(error < before);
        const double ahead = sweeps_ahead(planner.model->discount, error, tolerance, cost);
        before = error;
        so_far += cost;
        if (planner.direct.arena == nullptr || planner.direct.in_force) return false;
        if (so_far < tuning.direct_asked || ahead < tuning.direct_ahead) return false;
        const double factors = cost_of_direct(planner.direct, *planner.model, planner.chain);
        return direct_pays(factors, stuck ? so_far / tuning.direct_stuck : so_far, ahead);
    }

    // Sweeps until the tolerance; gamma is the slowest pace there is.
    double sweeps_ahead(double discount, double error, double tolerance, double cost) const {
        double rate = error / before, slowest = 1.0, ahead = 0.0;
        for (double k = 0.0; k < cost; k += 1.0) slowest *= discount;
        rate = smaller(rate, slowest);
        for (double left = error; left > tolerance && ahead < tuning.direct_farthest; left *= rate) ahead += cost;
        return ahead;
    }
};

}  // namespace

double continue_iteration(Planner& planner, const double* p, SweepLimits limits, Range first, Index* policy, double* V) {
    const Model& model = *planner.model;
    const Index states = model.num_states;
    const double factor = carried(model.discount), *reward = rewards_at_hand(planner);
    Values values{V, planner.next.data};
    planner.contest.everything = true;
    begin_evaluation(planner, p);
    Range change = first;
    Progress progress;
    double cost = 0.0;
    for (Index sweeps = 1;; ++sweeps) {
        const double error = 0.5 * factor * change.spread();
        values.swap();
        if (error <= limits.tolerance || sweeps >= limits.most || time_is_up()) {
            for (Index s = 0; s < states; ++s) V[s] = values.now[s] + factor * change.middle();
            return error;
        }
        const bool begins = planner.contest.everything;
        const double rounding = tuning.policies_tie * kEpsilon * (1.0 + largest_size(values.now, states));
        rule_out(planner, values.now, 2.0 * error + rounding);
        follow(planner.chain, model, p, reward, policy);
        if (begins) find_order(planner.chain);
        if (progress.factors_pay(planner, error, limits.tolerance, cost)) planner.direct.in_force = true;
        const double enough = enough_for(planner, change.spread(), 2.0 * limits.tolerance / factor);
        const Index most = planner.contest.count == 0 ? limits.most - sweeps : limits.inner;
        const Index made = approach(planner, planner.chain.gain.data, values, most, enough);
        sweeps += made;
        cost = static_cast<double>(made) + 1.0 + static_cast<double>(planner.contest.count) / static_cast<double>(states);
        change = improve(planner, p, reward, values, policy);
    }
}

double modified_policy_iteration(Planner& planner, const double* p, SweepLimits limits, Index* policy, double* V) {
    const Range first = bellman_sweep(planner, p, V, planner.next.data, policy);
    return continue_iteration(planner, p, limits, first, policy, V);
}

double evaluate_by_sweeps(Planner& planner, const double* p, SweepLimits limits, const Index* policy, double* V) {
    const Index states = planner.model->num_states;
    const double factor = carried(planner.model->discount);
    begin_evaluation(planner, p);
    follow(planner.chain, *planner.model, p, expected_rewards(planner, p), policy);
    find_order(planner.chain);
    Values values{V, planner.next.data};
    const double enough = factor > 0.0 ? 2.0 * limits.tolerance / factor : kInfinity;
    const Range change = evaluate_chain(planner, planner.chain.gain.data, values, limits.most, enough);
    for (Index s = 0; s < states; ++s) V[s] = values.now[s] + factor * change.middle();
    return 0.5 * factor * change.spread();
}

}  // namespace vb
