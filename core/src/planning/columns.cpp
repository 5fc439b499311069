// (I - gamma P_pi)^{-1} X by sweeps of four columns at a time: the chain is read once for all of them.
#include "planning/chain_evaluation.hpp"
#include "common/tuning.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

// Four columns of X, entry by entry side by side. A column is done when the spread of its residual is `enough`.
struct Columns {
    double* gain;  // (S, kTogether) the right-hand sides
    double* now;   // (S, kTogether)
    double* next;  // (S, kTogether)
    double enough[kTogether];
};

double enough_for(const Planner& planner, double accuracy, double size) {
    return 2.0 * accuracy * size / planner.model->discount;
}

Columns read_columns(Planner& planner, Matrix X, Index first, double accuracy) {
    Columns columns{planner.spare[0], planner.spare[kTogether], planner.spare[2 * kTogether], {}};
    double size[kTogether] = {};
    for (Index s = 0; s < X.rows; ++s) {
        for (Index j = 0; j < kTogether; ++j) {
            const double entry = first + j < X.cols ? X[s][first + j] : 0.0;
            columns.gain[s * kTogether + j] = columns.now[s * kTogether + j] = entry;
            size[j] = larger(size[j], fabs(entry));
        }
    }
    for (Index j = 0; j < kTogether; ++j) columns.enough[j] = enough_for(planner, accuracy, size[j]);
    return columns;
}

// Sweeps until all are done; false where that would take too long.
bool settle_columns(const Chain& chain, Columns& columns) {
    Watch watch;
    for (Index k = 0; k < tuning.sweep_limit; ++k) {
        double left[kTogether], most = 0.0;
        ordered_sweep_columns(chain, columns.gain, columns.now, left);
        for (Index j = 0; j < kTogether; ++j) {
            if (left[j] > columns.enough[j]) most = larger(most, left[j] / columns.enough[j]);
        }
        if (most == 0.0) return true;
        if (watch.slow(most, 1.0)) return false;
    }
    return true;
}

// One plain sweep, with the middle of what may be missing added.
void finish_columns(const Chain& chain, Columns& columns, Index first, Matrix X) {
    const double factor = chain.discount / (1.0 - chain.discount);
    chain_sweep_columns(chain, columns.gain, columns.now, columns.next);
    for (Index j = 0; j < kTogether && first + j < X.cols; ++j) {
        Range change{kInfinity, -kInfinity};
        for (Index s = 0; s < X.rows; ++s) {
            const double by = columns.next[s * kTogether + j] - columns.now[s * kTogether + j];
            change = {smaller(change.low, by), larger(change.high, by)};
        }
        for (Index s = 0; s < X.rows; ++s) X[s][first + j] = columns.next[s * kTogether + j] + factor * change.middle();
    }
}

// One column by itself.
void solve_alone(Planner& planner, Matrix X, Index j, double accuracy) {
    const Index states = X.rows;
    const double factor = planner.model->discount / (1.0 - planner.model->discount);
    double* gain = planner.rest.data;
    Values x{planner.Q.data, planner.next.data};
    for (Index s = 0; s < states; ++s) x.now[s] = gain[s] = X[s][j];
    const double enough = enough_for(planner, accuracy, largest_size(gain, states));
    const Range change = evaluate_chain(planner, gain, x, tuning.sweep_limit, enough);
    for (Index s = 0; s < states; ++s) X[s][j] = x.now[s] + factor * change.middle();
}

}  // namespace

void solve_by_sweeps(Planner& planner, const double* p, const Index* policy, Matrix X, double accuracy) {
    const Model& model = *planner.model;
    if (model.discount == 0.0) return;
    begin_evaluation(planner, p);
    follow(planner.chain, model, p, model.reward, policy);
    find_order(planner.chain);
    bool together = !planner.direct.in_force && !planner.spare.empty() && planner.chain.full == nullptr && X.cols > 1;
    for (Index first = 0; first < X.cols; first += kTogether) {
        const Index last = first + kTogether < X.cols ? first + kTogether : X.cols;
        if (together) {
            Columns columns = read_columns(planner, X, first, accuracy);
            together = settle_columns(planner.chain, columns);
            if (together) finish_columns(planner.chain, columns, first, X);
        }
        for (Index j = first; !together && j < last; ++j) solve_alone(planner, X, j, accuracy);
    }
}

}  // namespace vb
