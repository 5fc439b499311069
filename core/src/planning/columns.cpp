// (I - gamma P_pi)^{-1} X by sweeps of four columns at a time: the chain is read once for all of them.
#include "linalg/lanes.hpp"
#include "planning/chain_evaluation.hpp"
#include "planning/sweeps.hpp"

namespace vb {

namespace {

constexpr Index kMostSweeps = 1000000;

// Four columns of X, entry by entry side by side.
struct Columns {
    double* gain;   // (S, kTogether) the right-hand sides
    double* now;    // (S, kTogether)
    double* other;  // (S, kTogether)
    double enough[kTogether];  // spread of the last change at which a column is done
    double middle[kTogether];
    double widest = 0.0;       // the spread of a last change, as a part of what is enough
};

Columns read_columns(Planner& planner, Matrix X, Index first, double accuracy) {
    Columns columns{planner.spare[0], planner.spare[kTogether], planner.spare[2 * kTogether], {}, {}};
    for (Index j = 0; j < kTogether; ++j) {
        double size = 0.0;
        for (Index s = 0; s < X.rows; ++s) {
            const double entry = first + j < X.cols ? X[s][first + j] : 0.0;
            columns.gain[s * kTogether + j] = columns.now[s * kTogether + j] = entry;
            size = larger(size, vb::fabs(entry));
        }
        columns.enough[j] = 2.0 * accuracy * size / planner.model->discount;
    }
    return columns;
}

// One sweep, and how far each column is from done.
void sweep_columns(const Chain& chain, Columns& columns) {
    Lanes low = Lanes{} + kInfinity, high = Lanes{} - kInfinity;
    chain_sweep_columns(chain, columns.gain, columns.now, columns.other);
    for (Index s = 0; s < chain.num_states; ++s) {
        const Lanes change = load(columns.other + s * kTogether) - load(columns.now + s * kTogether);
        low = change < low ? change : low;
        high = change > high ? change : high;
    }
    columns.widest = 0.0;
    for (Index j = 0; j < kTogether; ++j) {
        const double spread = high[j] - low[j];
        columns.middle[j] = 0.5 * (high[j] + low[j]);
        if (spread > columns.enough[j]) columns.widest = larger(columns.widest, spread / columns.enough[j]);
    }
    double* kept = columns.now;
    columns.now = columns.other;
    columns.other = kept;
}

// Sweeps until all are done; false where that would take too long.
bool settle_columns(const Chain& chain, Columns& columns) {
    double before = kInfinity;
    for (Index k = 1; k <= kMostSweeps; ++k) {
        sweep_columns(chain, columns);
        if (columns.widest == 0.0) return true;
        if (k % kWatch != 0) continue;
        if (takes_long(before, columns.widest, kWatch, 1.0)) return false;
        before = columns.widest;
    }
    return true;
}

// One column by itself, from the value at hand.
void solve_alone(Planner& planner, Matrix X, Index j, double accuracy) {
    const Index states = X.rows;
    const double factor = planner.model->discount / (1.0 - planner.model->discount);
    double* gain = planner.rest.data;
    Values x{planner.Q.data, planner.next.data};
    for (Index s = 0; s < states; ++s) x.now[s] = gain[s] = X[s][j];
    const double enough = 2.0 * accuracy * largest_size(gain, states) / planner.model->discount;
    const Range change = evaluate_chain(planner, gain, x, kMostSweeps, enough);
    for (Index s = 0; s < states; ++s) X[s][j] = x.now[s] + factor * change.middle();
}

}  // namespace

void solve_by_sweeps(Planner& planner, const double* p, const Index* policy, Matrix X, double accuracy) {
    const Model& model = *planner.model;
    if (model.discount == 0.0) return;
    begin_chain(planner.chain, p);
    follow(planner.chain, model, p, model.reward, policy);
    const double factor = model.discount / (1.0 - model.discount);
    bool together = !planner.spare.empty() && X.cols > 1;
    for (Index first = 0; first < X.cols; first += kTogether) {
        const Index last = first + kTogether < X.cols ? first + kTogether : X.cols;
        if (together) {
            Columns columns = read_columns(planner, X, first, accuracy);
            together = settle_columns(planner.chain, columns);
            for (Index s = 0; together && s < X.rows; ++s) {
                const double* now = columns.now + s * kTogether;
                for (Index j = first; j < last; ++j) X[s][j] = now[j - first] + factor * columns.middle[j - first];
            }
        }
        for (Index j = first; !together && j < last; ++j) solve_alone(planner, X, j, accuracy);
    }
}

}  // namespace vb
