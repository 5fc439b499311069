// What policies lose in draws.
#include "common/numbers.hpp"
#include "common/tuning.hpp"
#include "judging/draws.hpp"
#include "judging/pace.hpp"

namespace vb {

namespace {

// The room in which draws are judged one after another: by sweeps each begins with what the one before lost everywhere.
void lose_alone(Draws& draws, const Question& asked, Index m, Matrix loss) {
    const Index states = draws.best.cols;
    const double rest = 1.0 - draws.model->discount;
    const bool sweeps = !draws.planner.factors();
    probabilities(draws.model->features, draws.theta[m], draws.p.data);
    for (Index k = 0; k < asked.policies.rows; ++k) {
        copy(asked.policies[k], states, draws.held.data);
        double* lost = sweeps ? draws.lost[k % draws.lost.rows] : nullptr;
        double precision = sweep_precision(draws.model->discount);
        if (sweeps) {
            for (Index s = 0; s < states; ++s) draws.V[s] = draws.best[m][s] - lost[s];
            precision = larger(values_precision(draws), smaller(tuning.judged_loss * lost[asked.state], rest));
        }
        held_value(draws.planner, {draws.p.data, draws.held.data, draws.V.data, draws.lu}, precision);
        for (Index s = 0; sweeps && s < states; ++s) lost[s] = draws.best[m][s] - draws.V[s];
        loss[k][m] = draws.best[m][asked.state] - draws.V[asked.state];
    }
}

// Of the advantages at hand, those that are 0, since the draw's own policy acts the same or within what V* may be off; whether
// any are left, in each draw.
struct Some {
    bool in[kLanes];
};
Some clear_advantages(const Draws& draws, Quartet& four, const Index* policy) {
    const double off = 4.0 * values_precision(draws) * (1.0 - draws.model->discount);
    Some some{};
    for (Index j = 0; j < kLanes; ++j) {
        const Index* own = draws.policy[four.draw[j]];
        for (Index s = 0; s < draws.best.cols; ++s) {
            double& gain = four.Q[s * kLanes + j];
            if (own[s] == policy[s] || gain <= off) gain = 0.0;
            some.in[j] |= gain > 0.0;
        }
    }
    return some;
}

// The loss of four draws in `other`, from what is there on; false where sweeps would take long.
bool settle_losses(const Draws& draws, Quartet& four, const Some& some, Index state) {
    const double rest = 1.0 - draws.model->discount;
    for (Index j = 0; j < kLanes; ++j) {
        for (Index s = 0; !some.in[j] && s < draws.best.cols; ++s) four.other[s * kLanes + j] = 0.0;
    }
    // What is enough is a part of the loss, which is known better after each stage.
    Lanes enough = all(rest * tuning.judged_loss_begin);
    for (;;) {
        if (!sweep_until(four, four.other.data, enough)) return false;
        const Lanes now = load(four.other.data + state * kLanes);
        const Lanes wanted = greatest(rest * tuning.judged_loss * now, all(rest * values_precision(draws)));
        if (most_of(enough - wanted) <= 0.0) return true;
        enough = least(wanted, enough);
    }
}

bool lose_four(Draws& draws, const Question& asked, Matrix loss) {
    Quartet& four = draws.four;
    const Index* before = nullptr;
    fill(four.other.data, four.other.size, 0.0);
    for (Index k = 0; k < asked.policies.rows; ++k) {
        const Index* policy = asked.policies[k];
        list_policy(four, policy, before);
        const Some some = clear_advantages(draws, four, policy);
        if (!settle_losses(draws, four, some, asked.state)) return false;
        for (Index j = 0; j < kLanes; ++j) {
            loss[k][four.draw[j]] = larger(0.0, four.other[asked.state * kLanes + j]);
        }
        before = policy;
    }
    return true;
}

}  // namespace

void find_losses(Draws& draws, const Question& asked, Matrix loss) {
    bool together = draws.side_by_side;
    if (!draws.planner.factors()) fill(draws.lost.data, draws.lost.rows * draws.lost.cols, 0.0);
    for (Index first = 0; first < draws.count; first += kLanes) {
        const Index last = smaller(first + kLanes, draws.count);
        Index which[kLanes];
        for (Index m = first; m < last; ++m) which[m - first] = m;
        if (together) {
            choose_four(draws, {which, last - first});
            together = lose_four(draws, asked, loss);
            if (together) continue;
        }
        for (Index m = first; m < last; ++m) lose_alone(draws, asked, m, loss);
    }
}

}  // namespace vb
