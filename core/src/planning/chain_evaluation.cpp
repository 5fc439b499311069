#include "planning/chain_evaluation.hpp"

#include "planning/slow_chain.hpp"

namespace vb {

namespace {

constexpr Index kPatience = 60;  // so many sweeps ahead are still shorter than Krylov's way

}  // namespace

bool takes_long(double before, double spread, Index sweeps, double enough) {
    if (!(spread < before)) return spread > enough;
    const double rate = spread / before;
    for (Index ahead = 0; spread > enough; ahead += sweeps, spread *= rate) {
        if (ahead >= kPatience) return true;
    }
    return false;
}

Range repeat(const Chain& chain, const double* gain, Values& V, Index most, double enough) {
    Range change{-kInfinity, kInfinity};
    for (Index k = 0; k < most && change.spread() > enough; ++k) {
        chain_sweep(chain, gain, V.now, V.other);
        change = change_between(V.now, V.other, chain.num_states);
        V.swap();
    }
    return change;
}

Range evaluate_chain(Planner& planner, const double* gain, Values& V, Index most, double enough) {
    bool may_hurry = !planner.spare.empty();
    Range change{-kInfinity, kInfinity};
    for (Index done = 0; done < most; done += kWatch) {
        const double before = change.spread();
        const Index times = most - done < kWatch ? most - done : kWatch;
        change = repeat(planner.chain, gain, V, times, enough);
        if (change.spread() <= enough) return change;
        if (!may_hurry || !takes_long(before, change.spread(), times, enough)) continue;
        may_hurry = solve_slow_chain(planner.chain, Side::values, gain, V.now, 0.5 * enough, planner.spare);
    }
    return change;
}

}  // namespace vb
