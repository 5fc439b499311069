#include "certifying/concave_bound.hpp"

#include "common/logarithm.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

// The simplex at hand.
struct Simplex {
    const Objective& objective;
    const Vertices& vertices;
    const Index* cell;

    const double* theta(Index corner) const { return vertices.theta[cell[corner]]; }
    double value(Index corner) const { return vertices.V[cell[corner]][objective.state]; }
};

void gather(const Simplex& simplex, ConcaveBoundWork& work) {
    const Objective& objective = simplex.objective;
    const Index n = objective.num_observed;
    for (Index corner = 0; corner < work.corners; ++corner) {
        const double* p = simplex.vertices.p[simplex.cell[corner]];
        double* seen = work.seen.data + corner * n;
        for (Index k = 0; k < n; ++k) seen[k] = p[objective.observed[k]];
    }
    fill(work.weights.data, work.corners, 1.0 / static_cast<double>(work.corners));
}

// h at the weights, its gradient in them in work.slope; theta and p there in work.mix and work.q.
double concave_part(const Simplex& simplex, ConcaveBoundWork& work) {
    const Objective& objective = simplex.objective;
    const Index d = work.mix.size, n = objective.num_observed;
    fill(work.mix.data, d, 0.0);
    for (Index v = 0; v < work.corners; ++v) add_scaled(work.weights[v], simplex.theta(v), d, work.mix.data);
    add_columns(work.seen.data, n, work.weights.data, work.corners, nullptr, work.q.data);
    double h = weighted_log_sum(work.counts.data, work.q.data, n);
    if (h == -kInfinity) return h;
    for (Index k = 0; k < n; ++k) work.rate[k] = work.counts[k] / work.q[k];
    h -= 0.5 * objective.ridge * dot(work.mix.data, work.mix.data, d);
    for (Index v = 0; v < work.corners; ++v) {
        const double gain = objective.bias * simplex.value(v);
        h += work.weights[v] * gain;
        work.slope[v] = gain - objective.ridge * dot(work.mix.data, simplex.theta(v), d) +
                        dot(work.rate.data, work.seen.data + v * n, n);
    }
    return h;
}

// Between which vertices weight moves, and how much h may gain at most.
struct Exchange {
    Index toward = 0;
    Index away = -1;
    double gap = 0.0;
};

Exchange find_exchange(const ConcaveBoundWork& work) {
    Exchange found;
    for (Index v = 0; v < work.corners; ++v) {
        if (work.slope[v] > work.slope[found.toward]) found.toward = v;
        const bool least = found.away < 0 || work.slope[v] < work.slope[found.away];
        if (work.weights[v] > 0.0 && least) found.away = v;
    }
    found.gap = work.slope[found.toward] - dot(work.weights.data, work.slope.data, work.corners);
    return found;
}

// h along an exchange: its slope at x is constant - square x + sum n change / (q + x change).
struct Along {
    double constant = 0.0;
    double square = 0.0;
};

Along look_along(const Simplex& simplex, const Exchange& exchange, ConcaveBoundWork& work) {
    const Index n = simplex.objective.num_observed;
    const double *toward = simplex.theta(exchange.toward), *away = simplex.theta(exchange.away);
    const double *seen = work.seen.data + exchange.toward * n, *left = work.seen.data + exchange.away * n;
    double mixed = 0.0, square = 0.0;
    for (Index j = 0; j < work.mix.size; ++j) {
        const double change = toward[j] - away[j];
        mixed += work.mix[j] * change;
        square += change * change;
    }
    for (Index k = 0; k < n; ++k) work.change[k] = seen[k] - left[k];
    const double rise = simplex.value(exchange.toward) - simplex.value(exchange.away);
    return {simplex.objective.bias * rise - simplex.objective.ridge * mixed, simplex.objective.ridge * square};
}

struct Derivatives {
    double first;
    double minus_second;
};

// After moving weight x. The slope is minus infinity where something observed would have no probability left.
Derivatives derivatives(const Along& along, const ConcaveBoundWork& work, double x) {
    const Index n = work.counts.size;
    const auto value = [&](Index k) { return fused(x, work.change[k], work.q[k]); };
    const auto relative = [&](Index k) { return work.change[k] / value(k); };
    std::uint64_t odd = 0;
    for (Index k = 0; k < n; ++k) odd |= oddness(value(k));
    if (is_odd(odd)) return {-kInfinity, 1.0};
    const double first = lane_sum(n, [&](Index k) { return work.counts[k] * relative(k); });
    const double second = lane_sum(n, [&](Index k) { return work.counts[k] * relative(k) * relative(k); });
    return {along.constant - along.square * x + first, along.square + second};
}

// How much weight to move, at most `most`: Newton's method within a bracket.
double line_search(const Along& along, const ConcaveBoundWork& work, double most) {
    double low = 0.0, high = most, x = most;
    for (Index k = 0; k < tuning.bound_trials; ++k) {
        const Derivatives at = derivatives(along, work, x);
        if (at.first >= 0.0) {
            if (x == high) break;
            low = x;
        } else {
            high = x;
        }
        const bool newton = at.first > -kInfinity && at.minus_second > 0.0;
        const double step = newton ? x + at.first / at.minus_second : low;
        const bool inside = low < step && step < high;
        const double width = tuning.bound_line_width * most;
        const bool settled = high - low <= width || (inside && vb::fabs(step - x) <= width);
        x = inside ? step : 0.5 * (low + high);
        if (settled) break;
    }
    return x;
}

}  // namespace

ConcaveBoundWork make_concave_bound_work(Arena& arena, const Problem& problem, Index corners) {
    const Index observed = problem.objective.num_observed;
    ConcaveBoundWork work;
    work.corners = corners;
    work.weights = arena.take<double>(corners);
    work.slope = arena.take<double>(corners);
    work.mix = arena.take<double>(problem.set.dimension);
    work.counts = arena.take<double>(observed);
    work.seen = arena.take<double>(corners * observed);
    work.q = arena.take<double>(observed);
    work.rate = arena.take<double>(observed);
    work.change = arena.take<double>(observed);
    return work;
}

double concave_bound(const Problem& problem, const Vertices& vertices, const Index* cell, Decision decision,
                     ConcaveBoundWork& work) {
    const Simplex simplex = {problem.objective, vertices, cell};
    gather(simplex, work);
    double bound = kInfinity;
    for (Index k = 0; k < tuning.bound_steps; ++k) {
        const double h = concave_part(simplex, work);
        if (h == -kInfinity) return h;
        const Exchange exchange = find_exchange(work);
        bound = smaller(bound, h + exchange.gap);
        const double enough = larger(decision.accuracy, tuning.bound_share * (h + decision.extra - decision.target));
        if (bound + decision.extra <= decision.target || exchange.gap <= enough) break;
        const Along along = look_along(simplex, exchange, work);
        const double moved = line_search(along, work, work.weights[exchange.away]);
        work.weights[exchange.toward] += moved;
        work.weights[exchange.away] = larger(0.0, work.weights[exchange.away] - moved);
    }
    return bound;
}

}  // namespace vb
