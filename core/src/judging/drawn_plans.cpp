// The optimal values of draws.
#include "common/numbers.hpp"
#include "common/tuning.hpp"
#include "judging/draws.hpp"
#include "judging/pace.hpp"

namespace vb {

namespace {

// A draw that was never planned for begins with the plan of another.
void begin_like(Draws& draws, Index m, Index other) {
    const Index states = draws.best.cols;
    if (largest_size(draws.best[m], states) > 0.0) return;
    copy(draws.best[other], states, draws.best[m]);
    copy(draws.policy[other], states, draws.policy[m]);
}

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
    bool together = draws.side_by_side;
    for (Index first = 0; first < which.size; first += kLanes) {
        const Index last = smaller(first + kLanes, which.size);
        for (Index k = first; first > 0 && k < last; ++k) begin_like(draws, which[k], which[0]);
        if (together) {
            choose_four(draws, {which.data + first, last - first});
            together = plan_four(draws, draws.four);
            if (together) continue;
        }
        for (Index k = first; k < last; ++k) plan_alone(draws, which[k]);
    }
}

}  // namespace vb
