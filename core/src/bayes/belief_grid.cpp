#include "bayes/belief_grid.hpp"

#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

// How many beliefs of K candidates have probabilities that are multiples of 1/resolution; more than `most` is enough to know.
Index points_of(Index candidates, Index resolution, Index most) {
    double points = 1.0;
    for (Index k = 1; k < candidates; ++k) {
        points *= static_cast<double>(resolution + k) / static_cast<double>(k);
        if (points > static_cast<double>(2 * most)) return 2 * most;
    }
    return static_cast<Index>(points + 0.5);
}

Index affordable_resolution(const HiddenModel& model) {
    const Index transitions = model.pair_begin[model.num_pairs()], K = model.num_candidates;
    const Index most = tuning.bayes_grid_numbers / larger(transitions * K, model.num_places() * Index{4});
    Index resolution = 1;
    while (K > 1 && resolution < tuning.bayes_grid_finest && points_of(K, resolution + 1, most) <= most) ++resolution;
    return resolution;
}

void fill_binomials(Matrix binomials) {
    for (Index n = 0; n < binomials.rows; ++n) {
        for (Index k = 0; k < binomials.cols; ++k) {
            const double before = n > 0 && k > 0 ? binomials[n - 1][k - 1] : 0.0;
            binomials[n][k] = k == 0 ? 1.0 : (n > 0 ? before + binomials[n - 1][k] : 0.0);
        }
    }
}

// The number of the point with these counts of 1/resolution, in lexicographic order.
Index rank_of(const BeliefGrid& grid, const Index* counts) {
    const Index K = grid.model->num_candidates;
    Index left = grid.resolution;
    double rank = 0.0;
    for (Index k = 0; k + 1 < K; ++k) {
        const Index r = K - 1 - k;
        rank += grid.binomials[left + r][r] - grid.binomials[left - counts[k] + r][r];
        left -= counts[k];
    }
    return static_cast<Index>(rank + 0.5);
}

// The counts that come after these in lexicographic order; false after the last.
bool advance(Index* counts, Index K) {
    Index k = K - 2;
    Index tail = counts[K - 1];
    while (k >= 0 && tail == 0) tail += counts[k--];
    // tail > 0 is what stands behind place k, and place k takes one of it; the rest goes to the end.
    if (k < 0) return false;
    for (Index j = k + 1; j < K; ++j) counts[j] = 0;
    counts[k] += 1;
    counts[K - 1] = tail - 1;
    return true;
}

// The corners of the cell of a belief, and their weights.
void find_cell(BeliefGrid& grid, const double* belief) {
    const Index K = grid.model->num_candidates;
    const double scale = static_cast<double>(grid.resolution);
    // above[k] = resolution (b_k + ... + b_{K-1}); a corner's counts are the differences of whole numbers near it.
    double sum = 0.0;
    for (Index k = K - 1; k > 0; --k) {
        sum += belief[k];
        const double x = smaller(sum * scale, scale);
        const double whole = static_cast<double>(static_cast<Index>(x + tuning.bayes_grid_rounding));
        grid.above[k] = whole;
        grid.rest[k] = larger(x - whole, 0.0);
    }
    grid.above[0] = scale;
    for (Index k = 1; k < K; ++k) {  // by insertion: there are few
        Index at = k - 1;
        while (at > 0 && grid.rest[grid.order[at - 1]] < grid.rest[k]) {
            grid.order[at] = grid.order[at - 1];
            --at;
        }
        grid.order[at] = k;
    }
    double before = 1.0;
    for (Index j = 0; j < K; ++j) {
        for (Index k = 0; k < K; ++k) {
            const double next = k + 1 < K ? grid.above[k + 1] : 0.0;
            grid.counts[k] = static_cast<Index>(larger(grid.above[k] - next, 0.0));
        }
        const double here = j + 1 < K ? grid.rest[grid.order[j]] : 0.0;
        grid.weight[j] = before - here;
        grid.corner[j] = grid.weight[j] > 0.0 ? rank_of(grid, grid.counts.data) : 0;
        before = here;
        if (j + 1 < K) grid.above[grid.order[j]] += 1.0;
    }
}

// Where each transition leads from each point: the cell, whose weights count the probability and the discount.
struct Cells {
    View<std::int32_t> corner;  // (points, transitions, K)
    Vector weight;
    Matrix reward;  // (points, pairs)
};

void fill_cells(BeliefGrid& grid, Cells& cells, double* belief, double* after, Index* counts) {
    const HiddenModel& model = *grid.model;
    const Index K = model.num_candidates, transitions = model.pair_begin[model.num_pairs()];
    fill<Index>(counts, K, 0);
    counts[K - 1] = grid.resolution;
    for (Index point = 0; point < grid.num_points; ++point) {
        for (Index k = 0; k < K; ++k) belief[k] = static_cast<double>(counts[k]) / static_cast<double>(grid.resolution);
        for (Index place = 0; place < model.num_places(); ++place) {
            grid.values[place * grid.num_points + point] = dot(model.known + place * K, belief, K);
        }
        for (Index pair = 0; pair < model.num_pairs(); ++pair) {
            const double reward = model.is_allowed(pair) ? dot(model.reward + pair * K, belief, K) : -kInfinity;
            cells.reward[point][pair] = reward;
        }
        for (Index i = 0; i < transitions; ++i) {
            double total = 0.0;
            for (Index k = 0; k < K; ++k) total += after[k] = belief[k] * model.p[i * K + k];
            const Index at = (point * transitions + i) * K;
            for (Index k = 0; k < K; ++k) after[k] = total > 0.0 ? after[k] / total : belief[k];
            find_cell(grid, after);
            for (Index k = 0; k < K; ++k) {
                cells.corner[at + k] = static_cast<std::int32_t>(grid.corner[k]);
                cells.weight[at + k] = grid.weight[k] * total * model.discount;
            }
        }
        advance(counts, K);
    }
}

double bellman(const BeliefGrid& grid, const Cells& cells, Index place, Index point) {
    const HiddenModel& model = *grid.model;
    const Index K = model.num_candidates, transitions = model.pair_begin[model.num_pairs()];
    double best = -kInfinity;
    for (Index a = 0; a < model.num_actions; ++a) {
        const Index pair = model.pair(place, a);
        double value = cells.reward[point][pair];
        if (value == -kInfinity) continue;
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            const Index after = model.place_after(place, model.successor[i]);
            if (after < 0) continue;
            const double* values = grid.values.data + after * grid.num_points;
            const Index at = (point * transitions + i) * K;
            for (Index k = 0; k < K; ++k) value += cells.weight[at + k] * values[cells.corner[at + k]];
        }
        best = larger(best, value);
    }
    return best;
}

// One sweep, in place; the largest change.
double sweep(BeliefGrid& grid, const Cells& cells) {
    double change = 0.0;
    for (Index place = grid.model->num_places() - 1; place >= 0; --place) {
        double* values = grid.values.data + place * grid.num_points;
        for (Index point = 0; point < grid.num_points; ++point) {
            const double value = bellman(grid, cells, place, point);
            if (value >= values[point]) continue;
            change = larger(change, values[point] - value);
            values[point] = value;
        }
    }
    return change;
}

}  // namespace

BeliefGrid make_belief_grid(Arena& arena, const HiddenModel& model) {
    const Index K = model.num_candidates, transitions = model.pair_begin[model.num_pairs()];
    BeliefGrid grid;
    grid.model = &model;
    grid.resolution = affordable_resolution(model);
    if (!grid.is_there()) return grid;
    grid.num_points = points_of(K, grid.resolution, tuning.bayes_grid_numbers);
    grid.values = arena.take<double>(model.num_places() * grid.num_points);
    grid.binomials = arena.matrix(grid.resolution + K + 1, K + 1);
    grid.above = arena.take<double>(K);
    grid.rest = arena.take<double>(K);
    grid.weight = arena.take<double>(K);
    grid.order = arena.take<Index>(K);
    grid.counts = arena.take<Index>(K);
    grid.corner = arena.take<Index>(K);
    Arena own;
    Cells cells{own.take_unfilled<std::int32_t>(grid.num_points * transitions * K),
                own.take_unfilled<double>(grid.num_points * transitions * K),
                own.matrix(grid.num_points, model.num_pairs())};
    Vector belief = own.take<double>(K), after = own.take<double>(K);
    Indices counts = own.take<Index>(K);
    if (arena.failed() || own.failed()) {
        grid.resolution = 1;
        return grid;
    }
    fill_binomials(grid.binomials);
    fill_cells(grid, cells, belief.data, after.data, counts.data);
    const Index sweeps = model.ends ? 1 : tuning.bayes_grid_sweeps;
    for (Index i = 0; i < sweeps; ++i) {
        if (sweep(grid, cells) <= tuning.bayes_grid_change) break;
    }
    return grid;
}

double grid_bound(BeliefGrid& grid, Index place, const double* belief) {
    find_cell(grid, belief);
    const double* values = grid.values.data + place * grid.num_points;
    double bound = 0.0;
    for (Index k = 0; k < grid.model->num_candidates; ++k) bound += grid.weight[k] * values[grid.corner[k]];
    return bound;
}

}  // namespace vb
