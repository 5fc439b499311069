#include "model/build_model.hpp"

#include <cstdint>

#include "common/tuning.hpp"
#include "model/check_model.hpp"

namespace vb {

namespace {

// Sizes and first places of all blocks; everything that owns no memory.
void lay_out_blocks(const vb_model_data& d, View<Block> blocks, FeasibleSet& set) {
    Index basis = 0, normals = 0;
    for (Index b = 0; b < d.num_blocks; ++b) {
        Block& block = blocks[b];
        block.first_coordinate = d.coordinate_begin[b];
        block.num_coordinates = d.coordinate_begin[b + 1] - block.first_coordinate;
        block.first_free = d.free_begin[b];
        block.num_free = d.free_begin[b + 1] - block.first_free;
        block.first_facet = d.facet_begin[b];
        block.first_square = set.num_squares;
        block.first_free_square = set.num_free_squares;
        block.coordinates = d.coordinates + block.first_coordinate;
        block.basis = d.basis + basis;
        block.diameter = d.diameter[b];
        const Index count = d.facet_begin[b + 1] - block.first_facet;
        block.facets = {count, block.num_free, d.normals + normals, nullptr, d.offsets + block.first_facet};
        basis += block.num_coordinates * block.num_free;
        normals += count * block.num_free;
        set.num_squares += block.num_coordinates * block.num_coordinates;
        set.num_free_squares += block.num_free * block.num_free;
        set.most_coordinates = larger(set.most_coordinates, block.num_coordinates);
        set.most_free = larger(set.most_free, block.num_free);
        set.most_facets = larger(set.most_facets, count);
    }
    set.dimension = d.dimension;
    set.num_blocks = d.num_blocks;
    set.num_free = d.free_begin[d.num_blocks];
    set.num_facets = d.facet_begin[d.num_blocks];
    set.blocks = blocks.data;
    set.center = d.center;
}

// The columns of an (n, m) matrix, one after another; null where memory has run out.
const double* turned(Arena& arena, const double* matrix, Index n, Index m) {
    Vector out = arena.take<double>(n * m);
    if (arena.failed()) return nullptr;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < m; ++j) out[j * n + i] = matrix[i * m + j];
    }
    return out.data;
}

// Normals by axis, for the blocks where that is cheap: scans of all facets then run along memory.
bool keep_by_axis(Arena& arena, View<Block> blocks) {
    for (Block& block : blocks) {
        Facets& facets = block.facets;
        if (facets.count < 8 || facets.count * facets.free > tuning.turned_numbers) continue;
        facets.by_axis = turned(arena, facets.normals, facets.count, facets.free);
        if (arena.failed()) return false;
    }
    return true;
}

void project_features(const vb_model_data& d, const Block& block, double* out) {
    const Index m = block.num_free;
    for (Index i = 0; i < d.num_transitions; ++i) {
        for (Index k = 0; k < block.num_coordinates; ++k) {
            add_scaled(d.phi[i * d.dimension + block.coordinates[k]], block.basis + k * m, m, out + i * m);
        }
    }
}

Features make_features(const vb_model_data& d) {
    Features features;
    features.count = d.num_transitions;
    features.dimension = d.dimension;
    features.dense = d.phi;
    features.begin = d.feature_begin;
    features.coordinate = d.feature_coordinate;
    features.weight = d.feature_weight;
    return features;
}

Model make_model(const vb_model_data& d, const std::int32_t* successor) {
    Model model;
    model.num_states = d.num_states;
    model.num_actions = d.num_actions;
    model.num_pairs = d.num_states * d.num_actions;
    model.num_transitions = d.num_transitions;
    model.discount = d.discount;
    model.pair_begin = d.pair_begin;
    model.successor = successor;
    model.reward = d.reward;
    model.reward_next = d.reward_next;
    model.features = make_features(d);
    return model;
}

// The block in which the features of a pair act: that of its first feature.
Index block_of_pair(const Model& model, const FeasibleSet& set, Index pair) {
    const Features& features = model.features;
    if (set.num_blocks == 1) return 0;
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        if (features.begin[i] < features.begin[i + 1]) return set.block_of[features.coordinate[features.begin[i]]];
    }
    return 0;
}

// The block of every coordinate and its place there; false where one is named twice.
bool number_coordinates(View<const Block> blocks, Indices block_of, Indices place_of) {
    fill<Index>(block_of.data, block_of.size, -1);
    for (Index b = 0; b < blocks.size; ++b) {
        for (Index k = 0; k < blocks[b].num_coordinates; ++k) {
            const Index at = blocks[b].coordinates[k];
            if (block_of[at] >= 0) return false;
            block_of[at] = b;
            place_of[at] = k;
        }
    }
    return true;
}

// Whether each transition has its features in one block: Hessians are kept block by block.
bool features_keep_to_blocks(const Features& features, const Index* block_of) {
    if (features.is_dense()) return true;
    for (Index i = 0; i < features.count; ++i) {
        for (Index k = features.begin[i] + 1; k < features.begin[i + 1]; ++k) {
            if (block_of[features.coordinate[k]] != block_of[features.coordinate[k - 1]]) return false;
        }
    }
    return true;
}

// Copies by column, and features in the coordinates y, where they are small; false where memory has run out.
bool keep_copies(const vb_model_data& d, View<Block> blocks, KnownModel& known) {
    Features& features = known.model.features;
    if (!keep_by_axis(known.arena, blocks)) return false;
    if (d.phi == nullptr) return true;
    if (d.num_transitions * d.dimension <= tuning.turned_numbers) {
        features.by_coordinate = turned(known.arena, d.phi, d.num_transitions, d.dimension);
    }
    if (d.num_states > tuning.projected_states || blocks[0].num_free == 0) return !known.arena.failed();
    Vector projected = known.arena.take<double>(d.num_transitions * blocks[0].num_free);
    if (known.arena.failed()) return false;
    project_features(d, blocks[0], projected.data);
    features.projected = projected.data;
    features.free = blocks[0].num_free;
    return true;
}

}  // namespace

Status build_model(const vb_model_data& d, KnownModel& known) {
    if (!can_be_a_model(d)) return Status::bad_argument;
    const Index pairs = d.num_states * d.num_actions;
    View<std::int32_t> successor = known.arena.take<std::int32_t>(d.num_transitions);
    View<Block> blocks = known.arena.take<Block>(d.num_blocks);
    Indices block_of = known.arena.take<Index>(d.dimension), place_of = known.arena.take<Index>(d.dimension);
    Indices pair_block = known.arena.take<Index>(pairs);
    if (known.arena.failed()) return Status::out_of_memory;
    for (Index i = 0; i < d.num_transitions; ++i) successor[i] = static_cast<std::int32_t>(d.successor[i]);
    lay_out_blocks(d, blocks, known.set);
    if (!number_coordinates(blocks, block_of, place_of)) return Status::bad_argument;
    known.set.block_of = block_of.data;
    known.set.place_of = place_of.data;
    known.model = make_model(d, successor.data);
    if (!features_keep_to_blocks(known.model.features, block_of.data)) return Status::bad_argument;
    for (Index pair = 0; pair < pairs; ++pair) pair_block[pair] = block_of_pair(known.model, known.set, pair);
    known.set.block_of_pair = pair_block.data;
    return keep_copies(d, blocks, known) ? Status::ok : Status::out_of_memory;
}

}  // namespace vb
