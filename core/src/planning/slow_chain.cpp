#include "planning/slow_chain.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

struct SlowChain {
    const Chain& chain;
    Side side;
    double* diagonal;  // D
    double *r, *shadow, *p, *v, *t;  // BiCGStab's own
    double* y;         // its solution
    double* first;     // backward^{-1} y
    double* rest;      // y - D first
    double* sums;      // what visits collect
    double* before;    // x, should a round do harm

    Index size() const { return chain.num_states; }
};

SlowChain lay_out(const Chain& chain, Side side, Matrix spare) {
    SlowChain slow{chain, side, spare[0], spare[1], spare[2], spare[3], spare[4], spare[5], spare[6], spare[7], spare[8],
                   spare[9], spare[10]};
    for (Index s = 0; s < chain.num_states; ++s) slow.diagonal[s] = 1.0 - chain.stays(s);
    return slow;
}

// One entry of a triangular solve. Values gather from x, which is zero where the triangle has no entries so far; visits
// scatter into sums, where what lands on entries that were done is not read again.
void solve_entry(const SlowChain& slow, Index s, const double* in, double* x) {
    const Chain& chain = slow.chain;
    if (slow.side == Side::values) {
        x[s] = (in[s] + chain.ahead(s, x)) / slow.diagonal[s];
        return;
    }
    const double value = slow.sums[s] / slow.diagonal[s];
    x[s] = value;
    if (value != 0.0) chain.spread_from(s, value, slow.sums);
}

void prepare(const SlowChain& slow, const double* in, double* x) {
    if (slow.side == Side::values) {
        fill(x, slow.size(), 0.0);
    } else {
        copy(in, slow.size(), slow.sums);
    }
}

void solve_forward(const SlowChain& slow, const double* in, double* x) {
    prepare(slow, in, x);
    for (Index s = 0; s < slow.size(); ++s) solve_entry(slow, s, in, x);
}

void solve_backward(const SlowChain& slow, const double* in, double* x) {
    prepare(slow, in, x);
    for (Index s = slow.size() - 1; s >= 0; --s) solve_entry(slow, s, in, x);
}

// out = D (first + forward^{-1} (in - D first)), first = backward^{-1} in
void apply(const SlowChain& slow, const double* in, double* out) {
    solve_backward(slow, in, slow.first);
    for (Index s = 0; s < slow.size(); ++s) slow.rest[s] = in[s] - slow.diagonal[s] * slow.first[s];
    solve_forward(slow, slow.rest, out);
    for (Index s = 0; s < slow.size(); ++s) out[s] = slow.diagonal[s] * (slow.first[s] + out[s]);
}

// BiCGStab from zero for the right-hand side in slow.r, until its norm is `reduction` of what it was.
void iterate(SlowChain& slow, double reduction) {
    const Index n = slow.size();
    double *r = slow.r, *p = slow.p, *v = slow.v, *t = slow.t;
    double rho = 1.0, alpha = 1.0, omega = 1.0;
    copy(r, n, slow.shadow);
    fill(p, n, 0.0);
    fill(v, n, 0.0);
    fill(slow.y, n, 0.0);
    const double goal = reduction * reduction * dot(r, r, n);
    for (int k = 0; k < tuning.slow_chain_iterations; ++k) {
        const double product = dot(slow.shadow, r, n), beta = product / rho * (alpha / omega);
        rho = product;
        for (Index s = 0; s < n; ++s) p[s] = r[s] + beta * (p[s] - omega * v[s]);
        apply(slow, p, v);
        alpha = rho / dot(slow.shadow, v, n);
        add_scaled(-alpha, v, n, r);
        apply(slow, r, t);
        const double square = dot(t, t, n);
        omega = square > 0.0 ? dot(t, r, n) / square : 0.0;
        if (!vb::isfinite(alpha) || !vb::isfinite(omega)) return;  // broken down: what was found so far is kept
        for (Index s = 0; s < n; ++s) slow.y[s] += alpha * p[s] + omega * r[s];
        add_scaled(-omega, t, n, r);
        if (dot(r, r, n) <= goal || omega == 0.0) return;
    }
}

// out = b + gamma P x - x, or with P'
void find_residual(const SlowChain& slow, const double* b, const double* x, double* out) {
    const Index n = slow.size();
    if (slow.side == Side::values) {
        chain_sweep(slow.chain, b, x, out);
    } else {
        copy(b, n, out);
        add_following(slow.chain, x, out);
    }
    add_scaled(-1.0, x, n, out);
}

}  // namespace

double residual_size(Side side, const double* residual, Index n) {
    if (side == Side::visits) return lane_sum(n, [&](Index i) { return vb::fabs(residual[i]); });
    double low = kInfinity, high = -kInfinity;
    for (Index i = 0; i < n; ++i) {
        low = smaller(low, residual[i]);
        high = larger(high, residual[i]);
    }
    return high - low;
}

bool solve_slow_chain(const Chain& chain, Side side, const double* b, double* x, double enough, Matrix spare) {
    SlowChain slow = lay_out(chain, side, spare);
    const Index n = slow.size();
    double before = kInfinity;
    for (int round = 0; round < tuning.slow_chain_rounds; ++round) {
        find_residual(slow, b, x, slow.rest);
        const double size = residual_size(side, slow.rest, n);
        if (!(size < before)) {  // the last round did harm, or there are no numbers: it is taken back
            for (Index s = 0; s < n; ++s) x[s] = slow.before[s];
            return round > 1;
        }
        if (size <= enough || size > tuning.slow_chain_gained * before) return round > 0;
        before = size;
        solve_forward(slow, slow.rest, slow.r);
        for (Index s = 0; s < n; ++s) slow.r[s] *= slow.diagonal[s];
        iterate(slow, larger(0.1 * enough / size, tuning.slow_chain_reduction));
        solve_backward(slow, slow.y, slow.first);
        copy(x, n, slow.before);
        add_scaled(1.0, slow.first, n, x);
    }
    return true;
}

}  // namespace vb
