// Discounted visits: the adjoint of policy evaluation.
//
// By sweeps, w grows by what it still lacks: with r = e_state - w + gamma P_pi' w, moving r(s) from r to w leaves
// gamma P_pi(.|s) r(s) in r, and one state after another is moved. Then w is scaled so that r sums to 0, which takes
// care of the slowest part, the one that decays like gamma. |r|_1 / (1 - gamma) bounds the L1 error of w, however w was
// found: where a chain mixes slowly, by Krylov's way (slow_chain.hpp).
#include "linalg/lu.hpp"
#include "common/tuning.hpp"
#include "planning/chain_evaluation.hpp"
#include "planning/slow_chain.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

// w f for w, with the f that makes r sum to 0: r = f r + (1 - f) e. Returns |r|_1.
double scale_visits(Index states, Index state, double* rest, double* w) {
    const double total = lane_sum(states, [&](Index s) { return rest[s]; }), factor = 1.0 / (1.0 - total);
    for (Index s = 0; s < states; ++s) {
        w[s] *= factor;
        rest[s] *= factor;
    }
    rest[state] += 1.0 - factor;
    return lane_sum(states, [&](Index s) { return fabs(rest[s]); });
}

// r = e_state - w + gamma P_pi' w
void find_rest(const Chain& chain, Index state, const double* w, double* rest) {
    fill(rest, chain.num_states, 0.0);
    rest[state] = 1.0;
    add_following(chain, w, rest);
    add_scaled(-1.0, w, chain.num_states, rest);
}

// By sparse factors; r is what they leave. False where they do not pay.
bool solve_visits(Planner& planner, Index state, double* w, double* rest) {
    if (!go_directly(planner, tuning.direct_farthest)) return false;
    correct_visits(planner.direct, rest, w);
    find_rest(planner.chain, state, w, rest);
    return true;
}

// By Krylov's way; r is what that leaves.
bool hurry(Planner& planner, Index state, double enough, double* w, double* rest) {
    const Index states = planner.model->num_states;
    double* start = planner.Q.data;
    fill(start, states, 0.0);
    start[state] = 1.0;
    const bool gained = solve_slow_chain(planner.chain, Side::visits, start, w, enough, planner.spare);
    find_rest(planner.chain, state, w, rest);
    return gained;
}

}  // namespace

void occupancy_by_sweeps(Planner& planner, const Valuation& at, const Visits& wanted, double* w) {
    const Model& model = *planner.model;
    const Index states = model.num_states, state = wanted.state;
    const double enough = wanted.precision * (1.0 - model.discount);
    begin_evaluation(planner, at.p);
    follow(planner.chain, model, at.p, model.reward, at.policy);
    find_order(planner.chain);
    double* rest = planner.rest.data;
    if (wanted.known) {
        find_rest(planner.chain, state, w, rest);
    } else {
        fill(rest, states, 0.0);
        fill(w, states, 0.0);
        rest[state] = 1.0;
    }
    const bool solved = planner.direct.in_force && solve_visits(planner, state, w, rest);
    bool may_solve = !solved, may_hurry = !planner.spare.empty();
    Watch watch;
    for (Index k = 0; k < tuning.sweep_limit; ++k) {
        push_rest(planner.chain, rest, w);
        const double size = scale_visits(states, state, rest, w);
        if (size <= enough) break;
        if (!(may_solve || may_hurry) || !watch.slow(size, enough)) continue;
        if (may_solve && solve_visits(planner, state, w, rest)) {
            may_solve = false;
        } else if (may_hurry) {
            may_hurry = hurry(planner, state, 0.5 * enough, w, rest);
        }
    }
    for (Index s = 0; s < states; ++s) w[s] = larger(w[s], 0.0);  // r has both signs; no visits are negative
}

void occupancy(Planner& planner, const Valuation& at, const Visits& wanted, double* w) {
    if (!planner.factors()) {
        occupancy_by_sweeps(planner, at, wanted, w);
        return;
    }
    fill(w, planner.model->num_states, 0.0);
    w[wanted.state] = 1.0;
    lu_solve_transposed(at.lu, w);
}

}  // namespace vb
