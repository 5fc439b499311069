#include "tabular/biased_pair.hpp"

#include "common/logarithm.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

// The transitions of greatest gain with counts and without; -1 where there is none.
struct Tops {
    Index seen = -1;
    Index unseen = -1;
};

Tops find_tops(const BiasedPair& pair) {
    Tops tops;
    for (Index i = 0; i < pair.size; ++i) {
        Index& top = pair.counts[i] > 0.0 ? tops.seen : tops.unseen;
        if (top < 0 || pair.gain[i] > pair.gain[top]) top = i;
    }
    return tops;
}

// nu - c g(top), where the seen transitions alone have mass 1. Newton's method on 1/mass = 1, which is concave in nu, so
// that it comes from the left.
double solve_offset(const BiasedPair& pair, Index top) {
    const double best = pair.gain[top];
    double x = pair.counts[top];  // the root lies between this and all counts
    for (int k = 0; k < tuning.pair_steps; ++k) {
        double mass = 0.0, slope = 0.0;
        for (Index i = 0; i < pair.size; ++i) {
            if (!(pair.counts[i] > 0.0)) continue;
            const double part = 1.0 / (x + pair.weight * (best - pair.gain[i]));
            mass += pair.counts[i] * part;
            slope += pair.counts[i] * part * part;
        }
        const double step = mass * (mass - 1.0) / slope;
        x += step;
        if (step <= 1e-15 * x) break;
    }
    return x;
}

}  // namespace

void biased_distribution(const BiasedPair& pair, double* out) {
    const Tops tops = find_tops(pair);
    fill(out, pair.size, 0.0);
    if (tops.seen < 0) {
        if (tops.unseen >= 0) out[tops.unseen] = 1.0;
        return;
    }
    double x = solve_offset(pair, tops.seen);
    const double best = pair.gain[tops.seen];
    const double least = tops.unseen >= 0 ? pair.weight * (pair.gain[tops.unseen] - best) : -kInfinity;
    x = larger(x, least);
    double mass = 0.0;
    for (Index i = 0; i < pair.size; ++i) {
        if (!(pair.counts[i] > 0.0)) continue;
        out[i] = pair.counts[i] / (x + pair.weight * (best - pair.gain[i]));
        mass += out[i];
    }
    if (tops.unseen >= 0 && least >= x) {
        out[tops.unseen] = larger(0.0, 1.0 - mass);
        mass += out[tops.unseen];
    }
    for (Index i = 0; i < pair.size; ++i) out[i] /= mass;
}

double distribution_score(const BiasedPair& pair, double visits, const double* p) {
    double total = 0.0;
    for (Index i = 0; i < pair.size; ++i) {
        if (pair.counts[i] > 0.0) total += pair.counts[i] * log_of(p[i] * visits / pair.counts[i]);
        total += pair.weight * p[i] * pair.gain[i];
    }
    return total;
}

}  // namespace vb
