#include "linalg/graph.hpp"

namespace vb {

namespace {

// Makes room for every entry at both of its ends, and fills it; twice where both entries are there.
void list_ends(const SparseRows& rows, Graph& graph) {
    for (Index i = 0; i < rows.n; ++i) graph.end[i] = graph.begin[i];
    for (Index i = 0; i < rows.n; ++i) {
        for (Index k = rows.begin[i]; k < rows.end[i]; ++k) {
            const std::int32_t j = rows.column[k];
            if (j == i) continue;
            graph.next[graph.end[i]++] = j;
            graph.next[graph.end[j]++] = static_cast<std::int32_t>(i);
        }
    }
}

void count_ends(const SparseRows& rows, Graph& graph) {
    for (Index i = 0; i < rows.n; ++i) {
        for (Index k = rows.begin[i]; k < rows.end[i]; ++k) {
            if (rows.column[k] == i) continue;
            ++graph.end[i];
            ++graph.end[rows.column[k]];
        }
    }
}

void drop_repeated(Graph& graph, View<std::int32_t> seen) {
    fill(seen.data, graph.n, std::int32_t{-1});
    for (Index i = 0; i < graph.n; ++i) {
        Index kept = graph.begin[i];
        for (Index k = graph.begin[i]; k < graph.end[i]; ++k) {
            const std::int32_t j = graph.next[k];
            if (seen[j] == i) continue;
            seen[j] = static_cast<std::int32_t>(i);
            graph.next[kept++] = j;
        }
        graph.end[i] = kept;
    }
}

}  // namespace

Graph make_graph(Arena& arena, const SparseRows& rows) {
    Graph graph;
    graph.n = rows.n;
    graph.begin = arena.take<Index>(rows.n);
    graph.end = arena.take<Index>(rows.n);
    const View<std::int32_t> seen = arena.take_unfilled<std::int32_t>(rows.n);
    if (arena.failed()) return graph;
    count_ends(rows, graph);
    Index total = 0;
    for (Index i = 0; i < rows.n; ++i) {
        graph.begin[i] = total;
        total += graph.end[i];
    }
    graph.next = arena.take_unfilled<std::int32_t>(total);
    if (arena.failed()) return graph;
    list_ends(rows, graph);
    drop_repeated(graph, seen);
    return graph;
}

}  // namespace vb
