#include "optimism/l1_ball.hpp"

namespace vb {

void rank(RankedSuccessors& all) {
    for (Index j = 1; j < all.count; ++j) {
        const double gain = all.gain[j];
        if (!(all.gain[j - 1] > gain)) continue;
        const std::int32_t state = all.state[j];
        const double estimate = all.estimate[j], reward = all.reward == nullptr ? 0.0 : all.reward[j];
        Index k = j;
        for (; k > 0 && all.gain[k - 1] > gain; --k) {
            all.gain[k] = all.gain[k - 1];
            all.state[k] = all.state[k - 1];
            all.estimate[k] = all.estimate[k - 1];
            if (all.reward != nullptr) all.reward[k] = all.reward[k - 1];
        }
        all.gain[k] = gain;
        all.state[k] = state;
        all.estimate[k] = estimate;
        if (all.reward != nullptr) all.reward[k] = reward;
    }
}

double best_mean(const RankedSuccessors& all, double radius) {
    const Index top = all.count - 1;
    double extra = smaller(0.5 * radius, 1.0 - all.estimate[top]);
    double total = (all.estimate[top] + extra) * all.gain[top];
    for (Index j = 0; j < top; ++j) {
        const double taken = smaller(extra, all.estimate[j]);
        extra -= taken;
        total += (all.estimate[j] - taken) * all.gain[j];
    }
    return total;
}

void best_weights(const RankedSuccessors& all, double radius, double* p) {
    const Index top = all.count - 1;
    double extra = smaller(0.5 * radius, 1.0 - all.estimate[top]);
    p[top] = all.estimate[top] + extra;
    for (Index j = 0; j < top; ++j) {
        const double taken = smaller(extra, all.estimate[j]);
        extra -= taken;
        p[j] = all.estimate[j] - taken;
    }
}

}  // namespace vb
