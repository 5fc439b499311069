#include "sampling/hit_and_run.hpp"

#include "common/tuning.hpp"
#include "linalg/triangular.hpp"
#include "sampling/slice.hpp"

namespace vb {

namespace {

// How far one may go along the direction and against it before a facet is met.
struct Reach {
    double low = kInfinity;
    double high = kInfinity;
};

bool possible(const BlockData& data) {
    for (Index k = 0; k < data.count; ++k) {
        if (!(data.p[k] > 0.0)) return false;
    }
    for (Index i = 0; i < data.block->facets.count; ++i) {
        if (!(data.slack[i] >= 0.0)) return false;
    }
    return true;
}

// Measures at y; where y excludes something seen or lies outside, it first moves towards the reference.
void mend(BlockData& data, double* y, const double* reference) {
    for (int k = 0; k < 60; ++k) {
        measure(data, y);
        if (possible(data)) return;
        for (Index j = 0; j < data.block->num_free; ++j) y[j] += 0.01 * (reference[j] - y[j]);
    }
}

// direction = L^{-T} z / |z|
void draw_direction(Sampler& sampler, const double* normals) {
    const Index m = sampler.data.block->num_free;
    const double scale = 1.0 / vb::sqrt(dot(normals, normals, m));
    copy(normals, m, sampler.direction.data);
    solve_lower_transposed(sampler.work.factor(m), sampler.direction.data);
    for (Index j = 0; j < m; ++j) sampler.direction[j] *= scale;
}

// Changes of slacks and relative changes of probabilities along the direction, and its reach.
Reach look_along(Sampler& sampler) {
    const BlockData& data = sampler.data;
    const Facets& facets = data.block->facets;
    const double *slack = data.slack.data, *along = sampler.along.data;
    along_normals(facets, sampler.direction.data, sampler.along.data);
    Reach reach;
    for (Index i = 0; i < facets.count; ++i) {  // few facets come nearer than those before: most cost no division
        if (along[i] < 0.0 && slack[i] + reach.high * along[i] < 0.0) reach.high = slack[i] / -along[i];
        if (along[i] > 0.0 && slack[i] - reach.low * along[i] < 0.0) reach.low = slack[i] / along[i];
    }
    along_features(data, sampler.direction.data, sampler.ratio.data);
    for (Index k = 0; k < data.count; ++k) sampler.ratio[k] /= data.p[k];
    return reach;
}

void move(Sampler& sampler, double t, double* y) {
    BlockData& data = sampler.data;
    add_scaled(t, sampler.direction.data, data.block->num_free, y);
    for (Index i = 0; i < data.block->facets.count; ++i) {
        data.slack[i] = larger(0.0, data.slack[i] + t * sampler.along[i]);
    }
    for (Index k = 0; k < data.count; ++k) {
        data.p[k] = larger(data.p[k] * (1.0 + t * sampler.ratio[k]), tuning.sample_least_probability);
    }
}

// One step, by m normals and two uniforms.
void step(Sampler& sampler, const double* normals, const double* uniforms, double* y) {
    draw_direction(sampler, normals);
    const Reach reach = look_along(sampler);
    const Line line = {sampler.data.count, sampler.data.weight.data, sampler.ratio.data};
    const double level = vb::log(1.0 - uniforms[0]);
    const double high = crossing(line, level, 1.0, reach.high);
    const double low = crossing(line, level, -1.0, reach.low);
    move(sampler, uniforms[1] * (low + high) - low, y);
}

}  // namespace

bool make_sampler(Arena& arena, const Model& model, const FeasibleSet& set, Sampler& sampler) {
    sampler.posterior = make_posterior(arena, model, set);
    if (arena.failed()) return false;
    fill_posterior(sampler.posterior);
    sampler.data = make_block_data(arena, sampler.posterior);
    sampler.work = make_reference_work(arena, sampler.posterior);
    sampler.y = arena.take<double>(set.num_free);
    sampler.reference = arena.take<double>(set.num_free);
    sampler.center = arena.take<double>(set.num_free);
    sampler.direction = arena.take<double>(set.most_free);
    sampler.along = arena.take<double>(set.most_facets);
    sampler.ratio = arena.take_unfilled<double>(sampler.posterior.most_seen);
    if (arena.failed()) return false;
    share_out(sampler.posterior, sampler.center.data, sampler.data, sampler.work);
    return true;
}

void sample(Sampler& sampler, const double* counts, Chance chance) {
    const FeasibleSet& set = *sampler.posterior.set;
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        const Index m = block.num_free;
        if (m == 0) continue;
        double *y = sampler.y.data + block.first_free, *reference = sampler.reference.data + block.first_free;
        look_at(sampler.posterior, b, counts, sampler.data);
        refer(sampler.data, reference, tuning.reference_steps, sampler.work);
        mend(sampler.data, y, reference);
        for (Index k = 0; k < chance.thinning * m; ++k) {
            step(sampler, chance.normals, chance.uniforms, y);
            chance.normals += m;
            chance.uniforms += 2;
        }
    }
}

}  // namespace vb
