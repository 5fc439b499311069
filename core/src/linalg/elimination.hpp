// What elimination will fill, found before any number is known: which entries L and U have where rows and columns are
// taken in one order, and (i, j) and (j, i) count as there where either is (Liu 1990, "The role of elimination trees in
// sparse factorization").
//
// Without pivoting this depends on the pattern alone: it is found once, and holds whatever the numbers are.
#pragma once

#include "linalg/graph.hpp"

namespace vb {

// What an order leads to. Pivots are numbered by the order in which they are taken.
struct EliminationTree {
    View<std::int32_t> order;   // (n,) the row of each pivot
    View<std::int32_t> place;   // (n,) the pivot of each row
    View<std::int32_t> parent;  // (n,) the first pivot that each one changes, or n: after it, and its other ones after that
    View<std::int32_t> count;   // (n,) how many entries of L are below each pivot, as many as of U are beside it
    double products = 0.0;      // multiplications in a factorisation: more than were allowed, and nobody knows how many
    double entries = 0.0;       // of L and U
};

// `order` need not be the one that results: pivots that depend on each other become neighbours, which fills no more.
// Gives up where it takes more products than `most`.
EliminationTree find_tree(Arena& arena, const Graph& graph, const std::int32_t* order, double most);

// Pivots in a row with the same entries below them are a block: factors are made of small dense matrices. The rows
// further down where a block has entries are its tail.
struct Elimination {
    Index n = 0;
    View<std::int32_t> order, place;  // (n,) as in the tree
    Index num_blocks = 0;
    View<std::int32_t> first;        // (blocks + 1,) the first pivot of each block; then n
    View<std::int32_t> block_of;     // (n,)
    Indices tail_begin;              // (blocks + 1,)
    View<std::int32_t> tail;         // ascending
    Indices meets_begin;             // (n + 1,)
    View<std::int32_t> meets;        // the blocks in whose tails each row is, ascending
    double products = 0.0;

    Index width(Index b) const { return first[b + 1] - first[b]; }
    Index length(Index b) const { return tail_begin[b + 1] - tail_begin[b]; }
};

// Of a tree that was not given up. `scratch` may go afterwards, with the tree.
Elimination make_elimination(Arena& arena, Arena& scratch, const Graph& graph, const EliminationTree& tree);

}  // namespace vb
