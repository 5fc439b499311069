#include "linalg/elimination.hpp"

namespace vb {

namespace {

using Numbers = View<std::int32_t>;

std::int32_t short_index(Index i) { return static_cast<std::int32_t>(i); }

void invert(const Numbers& order, Numbers& place) {
    for (Index i = 0; i < order.size; ++i) place[order[i]] = short_index(i);
}

// The parents of all pivots (Liu): the paths that were climbed are shortened.
void find_parents(const Graph& graph, EliminationTree& tree, Numbers& ancestor) {
    const std::int32_t none = short_index(graph.n);
    for (std::int32_t i = 0; i < none; ++i) {
        tree.parent[i] = ancestor[i] = none;
        const Index row = tree.order[i];
        for (Index k = graph.begin[row]; k < graph.end[row]; ++k) {
            std::int32_t at = tree.place[graph.next[k]];
            while (at < i) {
                const std::int32_t above = ancestor[at];
                ancestor[at] = i;
                if (above == none) tree.parent[at] = i;
                at = above;
            }
        }
    }
}

// Numbers the pivots anew, each right after all that are below it in the tree; `by_new` becomes the old number of each.
void walk_tree(const Numbers& parent, Numbers& child, Numbers& sibling, Numbers& by_new) {
    const std::int32_t n = short_index(parent.size);
    fill(child.data, Index{n} + 1, std::int32_t{-1});
    for (std::int32_t i = n - 1; i >= 0; --i) {
        sibling[i] = child[parent[i]];
        child[parent[i]] = i;
    }
    Index count = 0;
    for (std::int32_t at = n; count < n;) {
        while (child[at] >= 0) {
            const std::int32_t down = child[at];
            child[at] = sibling[down];
            at = down;
        }
        by_new[count++] = at;
        at = parent[at];
    }
}

// The tree in the numbers that it was walked in.
void renumber(EliminationTree& tree, const Numbers& by_new, Numbers& room) {
    const std::int32_t n = short_index(by_new.size);
    for (std::int32_t i = 0; i < n; ++i) room[i] = tree.order[by_new[i]];
    copy(room.data, n, tree.order.data);
    invert(tree.order, tree.place);
    for (std::int32_t i = 0; i < n; ++i) tree.count[by_new[i]] = i;  // the new number of each old one
    for (std::int32_t i = 0; i < n; ++i) {
        const std::int32_t above = tree.parent[by_new[i]];
        room[i] = above == n ? n : tree.count[above];
    }
    copy(room.data, n, tree.parent.data);
}

// Climbs from every entry of each row until where the row has been: every pivot that is passed has an entry there.
void count_entries(const Graph& graph, EliminationTree& tree, double most, Numbers& passed) {
    const std::int32_t n = short_index(graph.n);
    fill(tree.count.data, Index{n}, std::int32_t{0});
    fill(passed.data, Index{n}, std::int32_t{-1});
    for (std::int32_t i = 0; i < n && tree.products <= most; ++i) {
        const Index row = tree.order[i];
        tree.entries += 1.0;
        passed[i] = i;
        for (Index k = graph.begin[row]; k < graph.end[row]; ++k) {
            for (std::int32_t at = tree.place[graph.next[k]]; at < i && passed[at] != i; at = tree.parent[at]) {
                passed[at] = i;
                tree.products += 2.0 * static_cast<double>(tree.count[at]++) + 2.0;  // c (c + 1) in the end
                tree.entries += 2.0;
            }
        }
    }
}

}  // namespace

EliminationTree find_tree(Arena& arena, const Graph& graph, const std::int32_t* order, double most) {
    const Index n = graph.n;
    EliminationTree tree;
    tree.order = arena.take_unfilled<std::int32_t>(n);
    tree.place = arena.take_unfilled<std::int32_t>(n);
    tree.parent = arena.take_unfilled<std::int32_t>(n);
    tree.count = arena.take_unfilled<std::int32_t>(n);
    Numbers one = arena.take_unfilled<std::int32_t>(n + 1), two = arena.take_unfilled<std::int32_t>(n);
    Numbers by_new = arena.take_unfilled<std::int32_t>(n);
    if (arena.failed()) return tree;
    copy(order, n, tree.order.data);
    invert(tree.order, tree.place);
    find_parents(graph, tree, one);
    walk_tree(tree.parent, one, two, by_new);
    renumber(tree, by_new, two);
    count_entries(graph, tree, most, one);
    return tree;
}

namespace {

Index count_blocks(const EliminationTree& tree, Elimination& plan) {
    Index count = 0;
    for (Index i = 0; i < plan.n; ++i) {
        const bool goes_on = i > 0 && tree.parent[i - 1] == i && tree.count[i - 1] == tree.count[i] + 1;
        count += goes_on ? 0 : 1;
        plan.block_of[i] = short_index(count - 1);
    }
    return count;
}

// Where blocks and their tails begin.
void lay_out_blocks(const EliminationTree& tree, Elimination& plan) {
    for (Index i = plan.n - 1; i >= 0; --i) plan.first[plan.block_of[i]] = short_index(i);
    plan.first[plan.num_blocks] = short_index(plan.n);
    for (Index b = 0; b < plan.num_blocks; ++b) {
        plan.tail_begin[b + 1] = plan.tail_begin[b] + tree.count[plan.first[b + 1] - 1];
    }
}

// Climbs as counting does, by blocks. `end` is where each tail ends so far, `passed` scratch.
void fill_tails(const Graph& graph, const EliminationTree& tree, Elimination& plan, Indices& end, Numbers& passed) {
    copy(plan.tail_begin.data, plan.num_blocks, end.data);
    fill(passed.data, plan.num_blocks, std::int32_t{-1});
    for (std::int32_t i = 0; i < plan.n; ++i) {
        const Index row = plan.order[i], begin = plan.meets_begin[i];
        Index count = begin;
        passed[plan.block_of[i]] = i;
        for (Index k = graph.begin[row]; k < graph.end[row]; ++k) {
            const std::int32_t from = plan.place[graph.next[k]];
            if (from >= i) continue;
            for (std::int32_t b = plan.block_of[from]; passed[b] != i;) {
                passed[b] = i;
                plan.tail[end[b]++] = i;
                ++count;
                b = plan.block_of[tree.parent[plan.first[b + 1] - 1]];
            }
        }
        plan.meets_begin[i + 1] = count;
    }
}

void fill_meets(Elimination& plan, Indices& end) {
    copy(plan.meets_begin.data, plan.n, end.data);
    for (Index b = 0; b < plan.num_blocks; ++b) {
        for (Index k = plan.tail_begin[b]; k < plan.tail_begin[b + 1]; ++k) {
            plan.meets[end[plan.tail[k]]++] = short_index(b);
        }
    }
}

}  // namespace

Elimination make_elimination(Arena& arena, Arena& scratch, const Graph& graph, const EliminationTree& tree) {
    Elimination plan;
    const Index n = graph.n;
    plan.n = n;
    plan.products = tree.products;
    plan.order = arena.take_unfilled<std::int32_t>(n);
    plan.place = arena.take_unfilled<std::int32_t>(n);
    plan.block_of = arena.take_unfilled<std::int32_t>(n);
    Indices end = scratch.take_unfilled<Index>(n);
    Numbers passed = scratch.take_unfilled<std::int32_t>(n);
    if (arena.failed() || scratch.failed()) return plan;
    copy(tree.order.data, n, plan.order.data);
    copy(tree.place.data, n, plan.place.data);
    plan.num_blocks = count_blocks(tree, plan);
    plan.first = arena.take<std::int32_t>(plan.num_blocks + 1);
    plan.tail_begin = arena.take<Index>(plan.num_blocks + 1);
    plan.meets_begin = arena.take<Index>(n + 1);
    if (arena.failed()) return plan;
    lay_out_blocks(tree, plan);
    const Index entries = plan.tail_begin[plan.num_blocks];
    plan.tail = arena.take_unfilled<std::int32_t>(entries);
    plan.meets = arena.take_unfilled<std::int32_t>(entries);
    if (arena.failed()) return plan;
    fill_tails(graph, tree, plan, end, passed);
    fill_meets(plan, end);
    return plan;
}

}  // namespace vb
