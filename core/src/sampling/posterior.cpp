#include "sampling/posterior.hpp"

namespace vb {

namespace {

// The block in which a transition acts: that of its first feature that is not 0.
Index block_of_transition(const Posterior& posterior, Index i, Index pair) {
    const Features& features = posterior.model->features;
    if (posterior.set->num_blocks == 1) return 0;
    for (Index k = features.begin[i]; k < features.begin[i + 1]; ++k) {
        if (features.weight[k] != 0.0) return posterior.set->block_of[features.coordinate[k]];
    }
    return posterior.set->block_of_pair[pair];
}

// Calls visit(transition, block) for every transition, in order.
template <class Visit>
void for_each_transition(const Posterior& posterior, Visit visit) {
    const Model& model = *posterior.model;
    for (Index pair = 0; pair < model.num_pairs; ++pair) {
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            visit(i, block_of_transition(posterior, i, pair));
        }
    }
}

// Column `column` of `out`, (free, count), becomes phi_i in the coordinates y of the block.
void project(const Posterior& posterior, const Block& block, Index i, Index column, BlockData& data) {
    const Features& features = posterior.model->features;
    const Index m = block.num_free, count = data.count;
    double* out = data.features.data + column;
    if (features.projected != nullptr) {
        for (Index j = 0; j < m; ++j) out[j * count] = features.projected[i * m + j];
        return;
    }
    for (Index j = 0; j < m; ++j) out[j * count] = 0.0;
    const auto add = [&](double weight, Index place) {
        for (Index j = 0; j < m; ++j) out[j * count] += weight * block.basis[place * m + j];
    };
    if (features.is_dense()) {
        const double* phi = features.dense + i * features.dimension;
        for (Index k = 0; k < block.num_coordinates; ++k) add(phi[block.coordinates[k]], k);
        return;
    }
    for (Index k = features.begin[i]; k < features.begin[i + 1]; ++k) {
        if (features.weight[k] != 0.0) add(features.weight[k], posterior.set->place_of[features.coordinate[k]]);
    }
}

}  // namespace

Posterior make_posterior(Arena& arena, const Model& model, const FeasibleSet& set) {
    Posterior posterior;
    posterior.model = &model;
    posterior.set = &set;
    if (set.num_blocks > 1) posterior.order = arena.take<Index>(model.num_transitions);
    posterior.block_begin = arena.take<Index>(set.num_blocks + 1);
    posterior.share = arena.take<double>(set.num_facets);
    return posterior;
}

void fill_posterior(Posterior& posterior) {
    const Index blocks = posterior.set->num_blocks;
    Index* begin = posterior.block_begin.data;
    fill<Index>(begin, blocks + 1, 0);
    if (blocks == 1) {
        begin[1] = posterior.most_seen = posterior.model->num_transitions;
        return;
    }
    for_each_transition(posterior, [&](Index, Index block) { ++begin[block + 1]; });
    for (Index b = 0; b < blocks; ++b) {
        posterior.most_seen = larger(posterior.most_seen, begin[b + 1]);
        begin[b + 1] += begin[b];
    }
    // While transitions are placed, begin[b] is where the next one of block b goes; then all move up by one.
    for_each_transition(posterior, [&](Index i, Index block) { posterior.order[begin[block]++] = i; });
    for (Index b = blocks; b > 0; --b) begin[b] = begin[b - 1];
    begin[0] = 0;
}

BlockData make_block_data(Arena& arena, const Posterior& posterior) {
    BlockData data;
    Index entries = 0;
    for (Index b = 0; b < posterior.set->num_blocks; ++b) {
        const Index size = posterior.block_begin[b + 1] - posterior.block_begin[b];
        entries = larger(entries, size * posterior.set->blocks[b].num_free);
    }
    data.features = arena.take_unfilled<double>(entries);  // of all of these, as much is used as was seen
    data.base = arena.take_unfilled<double>(posterior.most_seen);
    data.weight = arena.take_unfilled<double>(posterior.most_seen);
    data.p = arena.take_unfilled<double>(posterior.most_seen);
    data.slack = arena.take<double>(posterior.set->most_facets);
    return data;
}

void look_at(const Posterior& posterior, Index b, const double* counts, BlockData& data) {
    const Block& block = posterior.set->blocks[b];
    data.block = &block;
    data.share = posterior.share.data + block.first_facet;
    data.count = 0;
    if (counts == nullptr) return;
    const Index begin = posterior.block_begin[b], end = posterior.block_begin[b + 1];
    for (Index k = begin; k < end; ++k) data.count += counts[posterior.transition(k)] > 0.0;
    Index column = 0;
    for (Index k = begin; k < end; ++k) {
        const Index i = posterior.transition(k);
        if (!(counts[i] > 0.0)) continue;
        data.weight[column] = counts[i];
        data.base[column] = probability(posterior.model->features, i, posterior.set->center);
        project(posterior, block, i, column++, data);
    }
}

void along_normals(const Facets& facets, const double* x, double* out) {
    if (facets.by_axis == nullptr) {
        for (Index i = 0; i < facets.count; ++i) out[i] = dot(facets.normal(i), x, facets.free);
        return;
    }
    add_columns(facets.by_axis, facets.count, x, facets.free, nullptr, out);
}

void along_features(const BlockData& data, const double* x, double* out) {
    add_columns(data.features.data, data.count, x, data.block->num_free, nullptr, out);
}

void measure(BlockData& data, const double* y) {
    const Facets& facets = data.block->facets;
    facet_values(facets, facets.offsets, y, data.slack.data);
    add_columns(data.features.data, data.count, y, facets.free, data.base.data, data.p.data);
}

}  // namespace vb
