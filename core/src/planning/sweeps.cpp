#include "planning/sweeps.hpp"

#include "planning/bellman.hpp"
#include "planning/chain_evaluation.hpp"
#include "planning/slow_chain.hpp"

namespace vb {

namespace {

constexpr double kEnough = 0.1;   // a policy is evaluated until the spread of changes is this part of what it was
constexpr double kFewPairs = 0.25;  // contested pairs per state up to which every sweep is a Bellman sweep

double carried(double discount) { return discount / (1.0 - discount); }

// V.other = T V over what may be optimal, with its policy.
Range improve(Planner& planner, const double* p, const double* reward, Values V, Index* policy) {
    const Model& model = *planner.model;
    const bool most = 2 * planner.contest.count > model.num_pairs;
    if (planner.contest.everything || most) {
        action_values_for(planner, p, reward, V.now);
        return greedy(model, planner.Q.data, V.now, V.other, policy);
    }
    chain_sweep(planner.chain, planner.chain.gain.data, V.now, V.other);
    settle_contest(planner, p, reward, V.now, V.other, policy);
    return change_between(V.now, V.other, model.num_states);
}

// Evaluates the policy for a while, where that is cheaper than more Bellman sweeps.
Index evaluate_for_a_while(Planner& planner, Values& V, SweepLimits limits, Range change, bool slow) {
    const Contest& contest = planner.contest;
    const double settled = 2.0 * limits.tolerance / carried(planner.model->discount);
    const double enough = contest.count == 0 ? larger(0.5 * settled, 1e-3 * change.spread()) : kEnough * change.spread();
    const double* gain = planner.chain.gain.data;
    if (slow && !planner.spare.empty()) {
        if (solve_slow_chain(planner.chain, Side::values, gain, V.now, enough, planner.spare)) return kWatch;
    }
    const double few = kFewPairs * static_cast<double>(planner.model->num_states);
    if (!slow && static_cast<double>(contest.count) <= few) return 0;
    repeat(planner.chain, gain, V, limits.inner, kEnough * change.spread());
    return limits.inner;
}

}  // namespace

double modified_policy_iteration(Planner& planner, const double* p, SweepLimits limits, Index* policy, double* V) {
    const Model& model = *planner.model;
    const Index states = model.num_states;
    const double factor = carried(model.discount), *reward = expected_rewards(planner, p);
    Values values{V, planner.next.data};
    planner.contest.everything = true;
    begin_chain(planner.chain, p);
    double before = kInfinity;
    Index sweeps = 0, since = 0;
    while (true) {
        const Range change = improve(planner, p, reward, values, policy);
        const double error = 0.5 * factor * change.spread();
        values.swap();
        ++sweeps;
        if (error <= limits.tolerance || sweeps >= limits.most) {
            for (Index s = 0; s < states; ++s) V[s] = values.now[s] + factor * change.middle();
            return error;
        }
        rule_out(planner, values.now, 2.0 * error + 16.0 * kEpsilon * (1.0 + largest_size(values.now, states)));
        follow(planner.chain, model, p, reward, policy);
        bool slow = false;
        if (sweeps - since >= kWatch) {
            slow = takes_long(before, change.spread(), sweeps - since, 2.0 * limits.tolerance / factor);
            before = change.spread();
            since = sweeps;
        }
        sweeps += evaluate_for_a_while(planner, values, limits, change, slow);
    }
}

double evaluate_by_sweeps(Planner& planner, const double* p, SweepLimits limits, const Index* policy, double* V) {
    const Index states = planner.model->num_states;
    const double factor = carried(planner.model->discount);
    begin_chain(planner.chain, p);
    follow(planner.chain, *planner.model, p, expected_rewards(planner, p), policy);
    Values values{V, planner.next.data};
    const double enough = factor > 0.0 ? 2.0 * limits.tolerance / factor : kInfinity;
    const Range change = evaluate_chain(planner, planner.chain.gain.data, values, limits.most, enough);
    for (Index s = 0; s < states; ++s) V[s] = values.now[s] + factor * change.middle();
    return 0.5 * factor * change.spread();
}

}  // namespace vb
