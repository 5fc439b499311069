#include "judging/pace.hpp"

#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

void choose_four(Draws& draws, ConstIndices which) {
    Quartet& four = draws.four;
    const Index d = draws.theta.cols, states = draws.best.cols;
    for (Index j = 0; j < kLanes; ++j) {
        const Index m = four.draw[j] = which[smaller(j, which.size - 1)];
        for (Index k = 0; k < d; ++k) four.theta[k * kLanes + j] = draws.theta[m][k];
        for (Index s = 0; s < states; ++s) four.V[s * kLanes + j] = draws.best[m][s];
    }
    four.descending = false;
}

bool sweep_until(Quartet& four, double* X, const Lanes& enough) {
    double before = kInfinity;
    for (Index sweeps = 1; sweeps <= tuning.judged_sweeps; ++sweeps) {
        const Lanes left = sweep_listed(four, X);
        double most = 0.0;  // of what is enough
        for (Index j = 0; j < kLanes; ++j) most = left[j] > enough[j] ? larger(most, left[j] / enough[j]) : most;
        if (most == 0.0) return true;
        if (sweeps % tuning.watch_interval != 0) continue;
        const double rate = vb::log(before / most) / static_cast<double>(tuning.watch_interval);  // infinite at first
        if (vb::log(most) > rate * static_cast<double>(tuning.judged_sweeps - sweeps)) return false;
        before = most;
    }
    return false;
}

}  // namespace vb
