// Who is next to whom in a sparse matrix, whichever of the two entries is there: what elimination depends on.
#pragma once

#include "common/arena.hpp"

namespace vb {

// The entries of row i are column[begin[i]] .. column[end[i] - 1].
struct SparseRows {
    Index n = 0;
    const Index* begin = nullptr;  // (n,)
    const Index* end = nullptr;    // (n,)
    const std::int32_t* column = nullptr;
};

// The neighbours of i are next[begin[i]] .. next[end[i] - 1], each of them once, i itself not among them.
struct Graph {
    Index n = 0;
    Indices begin, end;  // (n,)
    View<std::int32_t> next;

    Index degree(Index i) const { return end[i] - begin[i]; }
};

// i and j are neighbours where (i, j) or (j, i) is an entry.
Graph make_graph(Arena& arena, const SparseRows& rows);

}  // namespace vb
