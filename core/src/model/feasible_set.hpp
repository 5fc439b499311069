// The feasible set P, a product of blocks, each a polytope in coordinates y of its own:
//
//     theta[coordinates] = center + basis y,      normals y + offsets >= 0,      y = 0 well inside.
//
// A facet is one inequality. Free coordinates are the entries of y, blocks one after another.
#pragma once

#include "common/numbers.hpp"

namespace vb {

// Inequalities normals y + offsets >= 0 of one block.
struct Facets {
    Index count = 0;
    Index free = 0;
    const double* normals = nullptr;  // (count, free), unit rows
    const double* by_axis = nullptr;  // (free, count), the same by columns, or null where it is not kept
    const double* offsets = nullptr;  // (count,)

    const double* normal(Index i) const { return normals + i * free; }
    double value(Index i, const double* base, const double* y) const { return base[i] + dot(normal(i), y, free); }
};

// out = base + normals y, for all facets
void facet_values(const Facets& facets, const double* base, const double* y, double* out);

// out[k] = base + normal y, for the facets listed, or for all where no list is given: in such a way that a value does not
// depend on which others are asked for
void some_facet_values(const Facets& facets, View<const Index> listed, const double* base, const double* y, double* out);

struct Block {
    Index num_coordinates = 0;
    Index num_free = 0;
    Index first_coordinate = 0;   // into FeasibleSet::coordinates
    Index first_free = 0;         // into y
    Index first_facet = 0;        // into all facets
    Index first_square = 0;       // into flat (num_coordinates, num_coordinates) matrices of all blocks
    Index first_free_square = 0;  // into flat (num_free, num_free) matrices of all blocks
    const Index* coordinates = nullptr;  // (num_coordinates,) entries of theta
    const double* basis = nullptr;       // (num_coordinates, num_free), orthonormal columns
    Facets facets;
    double diameter = 0.0;  // bounds the distance of two points of the block
};

struct FeasibleSet {
    Index dimension = 0;  // d
    Index num_blocks = 0;
    Index num_free = 0;
    Index num_facets = 0;
    Index num_squares = 0;       // entries of all (coordinates, coordinates) matrices
    Index num_free_squares = 0;  // entries of all (free, free) matrices
    Index most_coordinates = 0;  // in one block
    Index most_free = 0;
    Index most_facets = 0;
    const Block* blocks = nullptr;
    const double* center = nullptr;       // (d,) the interior point
    const Index* block_of = nullptr;      // (d,) block of a coordinate
    const Index* place_of = nullptr;      // (d,) its place within the block
    const Index* block_of_pair = nullptr; // (pairs,) block in which the features of a pair act
};

// theta = center + basis y
void assemble(const FeasibleSet& set, const double* y, double* theta);

// out = basis' g: a gradient in theta as one in y
void reduce(const FeasibleSet& set, const double* g, double* out);

// the same for one block alone
void reduce_block(const Block& block, const double* g, double* out);

// out = basis y of one block: a direction in y as one in theta
void expand_block(const Block& block, const double* y, double* out);

// Shrinks y towards the interior point until every facet holds.
void move_inside(const FeasibleSet& set, double* y);

// y of a theta, moved inside P where theta is outside; `shifted` is (d,) scratch
void place(const FeasibleSet& set, const double* theta, double* y, double* shifted);

}  // namespace vb
