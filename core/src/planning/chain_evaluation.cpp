#include "planning/chain_evaluation.hpp"

#include "common/clock.hpp"
#include "common/tuning.hpp"
#include "planning/slow_chain.hpp"

namespace vb {

bool Watch::slow(double left, double enough) {
    const Index now = seen++ - tuning.watch_begin;
    if (now < 0 || now % tuning.watch_interval != 0) return false;
    const double rate = left / before;
    before = left;
    if (!(rate < 1.0)) return left > enough;
    for (Index ahead = 0; left > enough; ahead += tuning.watch_interval, left *= rate) {
        if (ahead >= tuning.watch_patience) return true;
    }
    return false;
}

namespace {

// One sweep, and a bound on the spread of the residual after it. Rows that lead everywhere mix so fast that order is
// worth nothing.
double sweep_once(const Chain& chain, const double* gain, Values& V) {
    if (chain.full == nullptr) return ordered_sweep(chain, gain, V.now);
    chain_sweep(chain, gain, V.now, V.other);
    const double spread = change_between(V.now, V.other, chain.num_states).spread();
    V.swap();
    return chain.discount * spread;
}

// V by the factors of the chain: what rounding leaves is corrected once more. How many sweeps that counts as.
Index solve_directly(Planner& planner, const double* gain, Values& V, double enough) {
    Index count = 0;
    while (count < tuning.direct_corrections && correct_values(planner.direct, planner.chain, gain, V.now, enough)) ++count;
    return count;
}

}  // namespace

void begin_evaluation(Planner& planner, const double* p) {
    begin_chain(planner.chain, p);
    planner.direct.in_force = planner.direct.at_once;
}

bool go_directly(Planner& planner, double most) {
    Direct& direct = planner.direct;
    direct.in_force = cost_of_direct(direct, *planner.model, planner.chain) <= most;
    if (direct.in_force) factor_chain(direct, planner.chain);
    return direct.in_force;
}

Index approach(Planner& planner, const double* gain, Values& V, Index most, double enough) {
    if (planner.direct.in_force && go_directly(planner, tuning.direct_farthest)) return solve_directly(planner, gain, V, enough);
    bool may_hurry = true;
    Watch watch;
    for (Index k = 1; k <= most; ++k) {
        const double spread = sweep_once(planner.chain, gain, V);
        if (spread <= enough || time_is_up()) return k;
        if (!may_hurry || !watch.slow(spread, enough)) continue;
        if (go_directly(planner, static_cast<double>(most - k))) return k + solve_directly(planner, gain, V, enough);
        may_hurry = !planner.spare.empty() &&
                    solve_slow_chain(planner.chain, Side::values, gain, V.now, 0.5 * enough, planner.spare);
    }
    return most;
}

Range evaluate_chain(Planner& planner, const double* gain, Values& V, Index most, double enough) {
    approach(planner, gain, V, most, enough);
    chain_sweep(planner.chain, gain, V.now, V.other);
    const Range change = change_between(V.now, V.other, planner.chain.num_states);
    V.swap();
    return change;
}

}  // namespace vb
