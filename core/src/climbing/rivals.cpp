#include "climbing/rivals.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

bool is_next_to(const double* a, const double* b, Index n) {
    for (Index j = 0; j < n; ++j) {
        if (!(vb::fabs(a[j] - b[j]) <= tuning.rival_next_to)) return false;
    }
    return true;
}

bool same_policy(const Index* a, const Index* b, Index states) {
    for (Index s = 0; s < states; ++s) {
        if (a[s] != b[s]) return false;
    }
    return true;
}

bool leads_to(const double* y, const double* step, const double* goal, Index n) {
    const double missed = tuning.rival_missed * largest_size(step, n);
    for (Index j = 0; j < n; ++j) {
        if (!(vb::fabs(y[j] + step[j] - goal[j]) <= missed)) return false;
    }
    return true;
}

}  // namespace

bool leads_to_rival(const Rivals& rivals, const Approaching& step) {
    if (rivals.policy.empty()) return false;
    for (Index k = 0; k < rivals.count; ++k) {
        if (step.f <= rivals.objective(k) && leads_to(step.y, step.move, rivals.y[k], rivals.y.cols) &&
            same_policy(step.policy, rivals.policy[k], rivals.policy.cols)) {
            return true;
        }
    }
    return false;
}

bool is_hopeless(const Rivals& rivals, const Standing& standing, const double* y) {
    if (!rivals.policy.empty()) return false;
    for (Index k = 0; k < rivals.count; ++k) {
        const double best = rivals.objective(k);
        if (standing.f + tuning.rival_hope * standing.rise < best) return true;
        const bool no_higher = standing.f <= best + standing.noise;
        const bool nothing = standing.rise + standing.noise <= tuning.rival_nothing * (1.0 + vb::fabs(best));
        if (no_higher && nothing && is_next_to(y, rivals.y[k], rivals.y.cols)) return true;
    }
    return false;
}

}  // namespace vb
