// The posterior of theta on P under the uniform prior, in the coordinates y of P, block by block.
//
//     log density = sum n_i log p_i      over the transitions seen,      p_i = base_i + <phi_i, basis y>
//
// Blocks of P are independent: a transition acts in one of them only, and each block is looked at on its own. What a
// block has seen is copied together, features by axis of y, so that loops over transitions run along memory.
#pragma once

#include "common/arena.hpp"
#include "model/feasible_set.hpp"
#include "model/model.hpp"

namespace vb {

// (rows, count) numbers, column after column: of facets or of transitions, by axis of y.
struct Columns {
    const double* data = nullptr;
    Index rows = 0;
    Index count = 0;

    const double* operator[](Index j) const { return data + j * rows; }
};

// What is fixed for a model.
struct Posterior {
    const Model* model = nullptr;
    const FeasibleSet* set = nullptr;
    Indices order;        // (transitions,) transitions, block after block; empty where there is one block
    Indices block_begin;  // (blocks + 1,) into order
    Vector share;         // (facets,) how much each facet counts in the curvature (reference.hpp)
    Index most_seen = 0;  // transitions of the largest block

    // The k-th of that order.
    Index transition(Index k) const { return order.empty() ? k : order[k]; }
};

// The block at hand: what was seen in it, and the point of it that was measured last. Room for the largest block.
struct BlockData {
    const Block* block = nullptr;
    const double* share = nullptr;  // (facets,) of this block
    Index count = 0;                // transitions seen
    Vector features;                // (free, count) by axis
    Vector base, weight;            // (count,) p at y = 0, and n
    Vector p;                       // (count,) at the point
    Vector slack;                   // (facets,) at the point

    Columns axes() const { return {features.data, count, block->num_free}; }
};

Posterior make_posterior(Arena& arena, const Model& model, const FeasibleSet& set);

// Groups transitions by block. For when the arena has not failed.
void fill_posterior(Posterior& posterior);

BlockData make_block_data(Arena& arena, const Posterior& posterior);

// Turns to a block, with what was seen in it by the counts (transitions,), or, where they are null, nothing.
void look_at(const Posterior& posterior, Index block, const double* counts, BlockData& data);

// Slacks and probabilities at the block's own y.
void measure(BlockData& data, const double* y);

// out = normals x: how fast slacks change along x
void along_normals(const Facets& facets, const double* x, double* out);

// out = <phi, basis x> of all that was seen: how fast probabilities change along x
void along_features(const BlockData& data, const double* x, double* out);

}  // namespace vb
