#include "climbing/known.hpp"

namespace vb {

namespace {

constexpr double kHope = 3.0;      // times what the slope promises: more a climb is not expected to win
constexpr double kNextTo = 1e-2;   // coordinates closer than this are next to each other ...
constexpr double kNothing = 1e-4;  // ... and this, relative to the objective, is nothing to win there
constexpr double kMissed = 0.1;    // of a step: by so much it may miss what it leads to

bool is_next_to(const double* a, const double* b, Index n) {
    for (Index j = 0; j < n; ++j) {
        if (!(vb::fabs(a[j] - b[j]) <= kNextTo)) return false;
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
    const double missed = kMissed * largest_size(step, n);
    for (Index j = 0; j < n; ++j) {
        if (!(vb::fabs(y[j] + step[j] - goal[j]) <= missed)) return false;
    }
    return true;
}

}  // namespace

bool lands_on_known(const Known& known, double f, const Point& at, const Workspace& work) {
    if (known.policy.empty()) return false;
    for (Index k = 0; k < known.count; ++k) {
        if (f <= known.objective(k) && leads_to(at.y, work.step.data, known.y[k], known.y.cols) &&
            same_policy(at.policy, known.policy[k], known.policy.cols)) {
            return true;
        }
    }
    return false;
}

bool is_hopeless(const Known& known, const Standing& standing, const double* y) {
    if (!known.policy.empty()) return false;
    for (Index k = 0; k < known.count; ++k) {
        const double best = known.objective(k);
        if (standing.f + kHope * standing.rise < best) return true;
        const bool no_higher = standing.f <= best + standing.noise;
        const bool nothing = standing.rise + standing.noise <= kNothing * (1.0 + vb::fabs(best));
        if (no_higher && nothing && is_next_to(y, known.y[k], known.y.cols)) return true;
    }
    return false;
}

}  // namespace vb
