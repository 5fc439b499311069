#include "sampling/slice.hpp"

#include "common/logarithm.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

// A bracket of the end: the log density is above the level at `inner` and below it at `outer`, where `there` is it.
struct Bracket {
    double inner = 0.0;
    double outer = 1.0;
    Excess there = {0.0, 0.0};
};

// Doubles `outer` until the log density is below the level; false where it is not even at the bound.
bool enclose(const Line& line, double level, double sign, double bound, Bracket& bracket) {
    bracket.outer = smaller(1.0, bound);
    while (true) {
        bracket.there = excess(line, sign * bracket.outer, level);
        if (bracket.there.value < 0.0) return true;
        bracket.inner = bracket.outer;
        if (bracket.outer >= bound) return false;
        bracket.outer = smaller(2.0 * bracket.outer, bound);
    }
}

// Newton's step from `outer`, and whether it is worth taking. Near probability 0 the logarithm is so steep that
// Newton's steps vanish: there the bracket had better be halved.
bool newton(const Bracket& bracket, double sign, double& next) {
    const double value = bracket.there.value;
    if (value == -kInfinity) return false;
    next = bracket.outer - value / (sign * bracket.there.slope);  // concave: from outside it stays outside
    return value > -1.0 || bracket.outer - next > 0.1 * (bracket.outer - bracket.inner);
}

}  // namespace

Excess excess(const Line& line, double t, double level) {
    const auto part = [&](Index k) { return fused(t, line.ratio[k], 1.0); };
    std::uint64_t odd = 0;
    for (Index k = 0; k < line.count; ++k) odd |= oddness(part(k));
    if (is_odd(odd)) return {-kInfinity, -kInfinity};
    const double total = lane_sum(line.count, [&](Index k) { return line.weight[k] * log_ordinary(part(k)); });
    const double slope = lane_sum(line.count, [&](Index k) { return line.weight[k] * line.ratio[k] / part(k); });
    return {total - level, slope};
}

double crossing(const Line& line, double level, double sign, double bound) {
    Bracket bracket;
    if (!enclose(line, level, sign, bound, bracket)) return bound;
    for (int k = 0; k < 200; ++k) {
        const double width = bracket.outer - bracket.inner;
        const bool met = bracket.there.value >= -tuning.slice_accuracy || width <= tuning.slice_accuracy * bracket.outer;
        if (met) return bracket.outer;
        double next = 0.0;
        const bool halved = !newton(bracket, sign, next);
        if (halved) next = 0.5 * (bracket.inner + bracket.outer);
        const Excess there = excess(line, sign * next, level);
        if (there.value < 0.0) {
            bracket.outer = next;
            bracket.there = there;
        } else if (halved) {
            bracket.inner = next;
        } else {
            return next;  // Newton landed on the root, up to rounding
        }
    }
    return bracket.outer;
}

}  // namespace vb
