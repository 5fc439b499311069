#include "model/build_model.hpp"

#include <cstdint>

namespace vb {

namespace {

constexpr Index kProjectedStates = 1000;      // up to this many states dense features are kept in y, too
constexpr Index kTurnedNumbers = 4'000'000;   // up to this many numbers normals and features are kept by columns, too
constexpr Index kLargest = Index{1} << 31;    // successors are kept in 32 bits

bool pointers_rise(const Index* begin, Index n, Index first, Index last) {
    if (begin == nullptr || begin[0] != first || begin[n] != last) return false;
    for (Index i = 0; i < n; ++i) {
        if (begin[i] > begin[i + 1]) return false;
    }
    return true;
}

bool within(const Index* values, Index n, Index limit) {
    for (Index i = 0; i < n; ++i) {
        if (values[i] < 0 || values[i] >= limit) return false;
    }
    return true;
}

bool sizes_fit(const vb_model_data& d) {
    const bool counts = d.num_states >= 1 && d.num_actions >= 1 && d.dimension >= 1 && d.num_transitions >= 0;
    if (!counts || d.num_states >= kLargest || d.num_actions >= kLargest || d.num_transitions >= kLargest) return false;
    if (!(d.discount >= 0.0 && d.discount < 1.0)) return false;
    if (d.successor == nullptr || d.reward == nullptr || d.center == nullptr) return false;
    return d.num_blocks >= 1 && d.num_blocks <= d.dimension;
}

bool features_fit(const vb_model_data& d) {
    if ((d.phi == nullptr) == (d.feature_begin == nullptr)) return false;
    if (d.phi != nullptr) return d.num_blocks == 1;
    const Index entries = d.feature_begin[d.num_transitions];
    return pointers_rise(d.feature_begin, d.num_transitions, 0, entries) &&
           within(d.feature_coordinate, entries, d.dimension);
}

bool pattern_fits(const vb_model_data& d) {
    return pointers_rise(d.pair_begin, d.num_states * d.num_actions, 0, d.num_transitions) &&
           within(d.successor, d.num_transitions, d.num_states);
}

bool blocks_fit(const vb_model_data& d) {
    if (d.free_begin == nullptr || d.facet_begin == nullptr || d.diameter == nullptr) return false;
    const Index free = d.free_begin[d.num_blocks], facets = d.facet_begin[d.num_blocks];
    return pointers_rise(d.coordinate_begin, d.num_blocks, 0, d.dimension) &&
           pointers_rise(d.free_begin, d.num_blocks, 0, free) && free <= d.dimension &&
           pointers_rise(d.facet_begin, d.num_blocks, 0, facets) &&
           within(d.coordinates, d.dimension, d.dimension);
}

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
        if (facets.count < 8 || facets.count * facets.free > kTurnedNumbers) continue;
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

}  // namespace

Status build_model(const vb_model_data& d, KnownModel& known) {
    if (!sizes_fit(d) || !pattern_fits(d) || !features_fit(d) || !blocks_fit(d)) return Status::bad_argument;
    const Index pairs = d.num_states * d.num_actions;
    View<std::int32_t> successor = known.arena.take<std::int32_t>(d.num_transitions);
    View<Block> blocks = known.arena.take<Block>(d.num_blocks);
    Indices block_of = known.arena.take<Index>(d.dimension), place_of = known.arena.take<Index>(d.dimension);
    Indices pair_block = known.arena.take<Index>(pairs);
    if (known.arena.failed()) return Status::out_of_memory;
    for (Index i = 0; i < d.num_transitions; ++i) successor[i] = static_cast<std::int32_t>(d.successor[i]);
    lay_out_blocks(d, blocks, known.set);
    for (Index b = 0; b < d.num_blocks; ++b) {
        for (Index k = 0; k < blocks[b].num_coordinates; ++k) {
            block_of[blocks[b].coordinates[k]] = b;
            place_of[blocks[b].coordinates[k]] = k;
        }
    }
    known.set.block_of = block_of.data;
    known.set.place_of = place_of.data;
    known.model = make_model(d, successor.data);
    for (Index pair = 0; pair < pairs; ++pair) pair_block[pair] = block_of_pair(known.model, known.set, pair);
    known.set.block_of_pair = pair_block.data;
    if (!keep_by_axis(known.arena, blocks)) return Status::out_of_memory;
    if (d.phi != nullptr && d.num_transitions * d.dimension <= kTurnedNumbers) {
        known.model.features.by_coordinate = turned(known.arena, d.phi, d.num_transitions, d.dimension);
    }
    if (known.arena.failed()) return Status::out_of_memory;
    if (d.phi != nullptr && d.num_states <= kProjectedStates && blocks[0].num_free > 0) {
        Vector projected = known.arena.take<double>(d.num_transitions * blocks[0].num_free);
        if (known.arena.failed()) return Status::out_of_memory;
        project_features(d, blocks[0], projected.data);
        known.model.features.projected = projected.data;
        known.model.features.free = blocks[0].num_free;
    }
    return Status::ok;
}

}  // namespace vb
