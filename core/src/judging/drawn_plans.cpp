// The optimal values of draws.
#include "common/numbers.hpp"
#include "common/tuning.hpp"
#include "judging/draws.hpp"
#include "judging/pace.hpp"

namespace vb {

namespace {

void plan_alone(Draws& draws, Index m) {
    probabilities(draws.model->features, draws.theta[m], draws.p.data);
    const Valuation at{draws.p.data, draws.policy[m], draws.best[m], draws.lu};
    optimal_value(draws.planner, at, values_precision(draws));
}

// Makes V of the quartet what a sweep has found and, by MacQueen's bounds, is still to come.
void take_swept(Quartet& four, const LaneRange& change) {
    const double carried = four.model->discount / (1.0 - four.model->discount);
    const Lanes middle = 0.5 * (change.low + change.high);
    for (Index s = 0; s < four.model->num_states; ++s) {
        store(fused(carried, middle, load(four.other.data + s * kLanes)), four.V.data + s * kLanes);
    }
}

// The greedy action of a state for one draw; the one in force where nothing is better by more than what Q may be off.
Index greedy_action(const Quartet& four, Index state, Index held, Index j, double off) {
    const Index actions = four.model->num_actions;
    const double* Q = four.Q.data + four.model->pair(state, 0) * kLanes + j;
    Index chosen = 0;
    for (Index a = 1; a < actions; ++a) chosen = Q[a * kLanes] > Q[chosen * kLanes] ? a : chosen;
    const double margin = off + tuning.policies_tie * kEpsilon * (1.0 + vb::fabs(Q[chosen * kLanes]));
    return Q[held * kLanes] >= Q[chosen * kLanes] - margin ? held : chosen;
}

void give_back(Draws& draws, const Quartet& four, const Lanes& spread) {
    for (Index j = 0; j < kLanes; ++j) {
        const Index m = four.draw[j];
        for (Index s = 0; s < four.model->num_states; ++s) {
            draws.best[m][s] = four.V[s * kLanes + j];
            draws.policy[m][s] = greedy_action(four, s, draws.policy[m][s], j, 2.0 * spread[j]);
        }
    }
}

// V* of four draws; false where sweeps would take long.
bool plan_four(Draws& draws, Quartet& four) {
    const double carried = draws.model->discount / (1.0 - draws.model->discount);
    const double settled = 2.0 * values_precision(draws) / larger(carried, 1e-300);
    for (Index round = 0; round < tuning.judged_rounds; ++round) {
        const LaneRange change = sweep_all_pairs(four);
        const Lanes spread = change.high - change.low;
        take_swept(four, change);
        if (most_of(spread) <= settled) {
            give_back(draws, four, spread);
            return true;
        }
        list_candidates(four, tuning.judged_candidates * spread);
        Lanes enough = all(0.5 * settled);
        if (round == 0) enough = greatest(tuning.sweep_enough_of_few * spread, enough);
        if (!sweep_until(four, four.V.data, enough)) return false;
    }
    return false;
}

}  // namespace

void plan_draws(Draws& draws, ConstIndices which) {
    forget_information(draws);
    Index done = 0;
    while (done < which.size) {
        const Index last = smaller(done + kLanes, which.size);
        bool planned = false;
        if (draws.side_by_side) {
            choose_four(draws, {which.data + done, last - done});
            planned = plan_four(draws, draws.four);
        }
        for (; done < last; ++done) {
            if (!planned) plan_alone(draws, which[done]);
        }
    }
}

}  // namespace vb
