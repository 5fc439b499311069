#include "planning/contest.hpp"

#include "planning/planner.hpp"

namespace vb {

namespace {

// Begins the list: the pairs of every state with at least two candidates.
void list_candidates(Planner& planner, const double* best, double width) {
    const Model& model = *planner.model;
    Contest& contest = planner.contest;
    Index count = 0;
    for (Index s = 0; s < model.num_states; ++s) {
        const Index first = count;
        for (Index pair = model.pair(s, 0); pair < model.pair(s + 1, 0); ++pair) {
            contest.pair[count] = static_cast<std::int32_t>(pair);  // kept by counting it
            count += planner.Q[pair] >= best[s] - width;
        }
        if (count - first < 2) count = first;
    }
    contest.count = count;
    contest.everything = false;
}

void shorten_list(Planner& planner, const double* best, double width) {
    const Index actions = planner.model->num_actions;
    Contest& contest = planner.contest;
    Index count = 0;
    for (Index k = 0; k < contest.count;) {
        const Index state = contest.pair[k] / actions, first = count;
        for (; k < contest.count && contest.pair[k] / actions == state; ++k) {
            contest.pair[count] = contest.pair[k];
            count += planner.Q[contest.pair[k]] >= best[state] - width;
        }
        if (count - first < 2) count = first;
    }
    contest.count = count;
}

}  // namespace

void rule_out(Planner& planner, const double* best, double width) {
    if (planner.contest.everything) {
        list_candidates(planner, best, width);
    } else {
        shorten_list(planner, best, width);
    }
}

void settle_contest(Planner& planner, const double* p, const double* reward, const double* V, double* out, Index* policy) {
    const Model& model = *planner.model;
    const Contest& contest = planner.contest;
    for (Index k = 0; k < contest.count;) {
        const Index state = contest.pair[k] / model.num_actions, held = model.pair(state, policy[state]);
        double best = -kInfinity;
        Index chosen = held;
        for (; k < contest.count && contest.pair[k] / model.num_actions == state; ++k) {
            const Index pair = contest.pair[k];
            planner.Q[pair] = reward[pair] + model.discount * planner.ahead(p, pair, V);
            if (planner.Q[pair] > best) {
                best = planner.Q[pair];
                chosen = pair;
            }
        }
        if (planner.Q[held] < best) policy[state] = chosen - model.pair(state, 0);
        out[state] = best;
    }
}

}  // namespace vb
