// Discounted visits: the adjoint of policy evaluation.
//
// By sweeps they are summed: with r the part still to be summed and r' = gamma P_pi' r, what is missing is
// (I - gamma P_pi')^{-1} r. Taking r / (1 - gamma) for it is wrong by at most |r' - gamma r|_1 / (1 - gamma)^2, which soon
// is little where the process mixes; elsewhere |r|_1 / (1 - gamma) bounds all of it. r is the residual of the sum, so
// that any other way towards the solution may come between (slow_chain.hpp).
#include "linalg/lu.hpp"
#include "planning/chain_evaluation.hpp"
#include "planning/slow_chain.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

// r and r', and what decides when the sum ends.
struct Remainder {
    double* now;
    double* following;
    double mass = 0.0;    // |r|_1
    double change = 0.0;  // |r' - gamma r|_1
};

void follow_remainder(const Chain& chain, Remainder& rest) {
    const Index states = chain.num_states;
    fill(rest.following, states, 0.0);
    add_following(chain, rest.now, rest.following);
    rest.mass = rest.change = 0.0;
    for (Index s = 0; s < states; ++s) {
        rest.mass += vb::fabs(rest.now[s]);
        rest.change += vb::fabs(rest.following[s] - chain.discount * rest.now[s]);
    }
}

// By Krylov's way; the remainder is what that leaves.
bool hurry(Planner& planner, Index state, double enough, double* w, double* rest) {
    const Index states = planner.model->num_states;
    double* start = planner.Q.data;
    fill(start, states, 0.0);
    start[state] = 1.0;
    const bool gained = solve_slow_chain(planner.chain, Side::visits, start, w, enough, planner.spare);
    copy(start, states, rest);
    add_following(planner.chain, w, rest);
    add_scaled(-1.0, w, states, rest);
    return gained;
}

}  // namespace

void occupancy_by_sweeps(Planner& planner, const double* p, const Index* policy, Index state, double tolerance, double* w) {
    const Model& model = *planner.model;
    const Index states = model.num_states;
    const double left = 1.0 - model.discount, enough = tolerance * left, steady = tolerance * left * left;
    begin_chain(planner.chain, p);
    follow(planner.chain, model, p, model.reward, policy);
    Remainder rest{planner.rest.data, planner.next.data};
    fill(rest.now, states, 0.0);
    fill(w, states, 0.0);
    rest.now[state] = 1.0;
    bool may_hurry = !planner.spare.empty();
    double mass = kInfinity, change = kInfinity;
    for (Index k = 1;; ++k) {
        follow_remainder(planner.chain, rest);
        if (rest.mass <= enough) return;
        const bool is_steady = rest.change <= steady;
        add_scaled(is_steady ? 1.0 / left : 1.0, rest.now, states, w);
        if (is_steady) return;
        double* kept = rest.now;
        rest.now = rest.following;
        rest.following = kept;
        if (k % kWatch != 0) continue;
        const bool slow = takes_long(mass, rest.mass, kWatch, enough) && takes_long(change, rest.change, kWatch, steady);
        if (slow && may_hurry) may_hurry = hurry(planner, state, 0.5 * enough, w, rest.now);
        mass = rest.mass;
        change = rest.change;
    }
}

void occupancy(Planner& planner, const double* p, const Index* policy, Index state, double* w) {
    if (!planner.factors()) {
        occupancy_by_sweeps(planner, p, policy, state, sweep_precision(planner.model->discount), w);
        return;
    }
    fill(w, planner.model->num_states, 0.0);
    w[state] = 1.0;
    lu_solve_transposed(planner.lu, w);
}

}  // namespace vb
