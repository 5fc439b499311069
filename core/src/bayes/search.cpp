#include "bayes/search.hpp"

#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

double gap_of(const BeliefGraph& graph, Index node) { return graph.nodes[node].high - graph.nodes[node].low; }

// The action whose upper bound is greatest once it was tried.
Index most_promising(BeliefGraph& graph, Index node) {
    const Index A = graph.model->num_actions;
    while (true) {
        Tried* tried = graph.tried.data + node * A;
        Index best = 0;
        for (Index a = 1; a < A; ++a) best = tried[a].high > tried[best].high ? a : best;
        if (tried[best].begin >= 0) return best;
        try_action(graph, node, best);
    }
}

// The successor whose gap, beyond what is allowed there, weighs most; -1 where none does.
Index next_node(BeliefGraph& graph, const Tried& tried, double allowed) {
    double heaviest = 0.0;
    Index chosen = -1;
    for (Index e = tried.begin; e < tried.end; ++e) {
        const Edge edge = graph.edges[e];
        if (edge.node < 0) continue;
        refresh(graph, edge.node);
        const double weight = edge.p * (gap_of(graph, edge.node) - allowed);
        if (weight > heaviest) {
            heaviest = weight;
            chosen = edge.node;
        }
    }
    return chosen;
}

// Goes down; returns the length of the path.
Index descend(Search& search, const SearchTask& task) {
    BeliefGraph& graph = search.graph;
    double allowed = task.tolerance;
    Index node = task.root, length = 0;
    while (node >= 0 && length < search.path.size && !graph.full()) {
        refresh(graph, node);
        search.path[length++] = node;
        if (gap_of(graph, node) <= allowed) break;
        const Index action = most_promising(graph, node);
        allowed = graph.model->discount > 0.0 ? allowed / graph.model->discount : kInfinity;
        node = next_node(graph, graph.tried[node * graph.model->num_actions + action], allowed);
    }
    return length;
}

// What a trial changes, beside the bounds of the root.
struct Size {
    Index nodes, edges, vectors;
    double gap;
};

Size size_of(const BeliefGraph& graph, Index root) {
    return {graph.num_nodes, graph.num_edges, graph.lower.count, gap_of(graph, root)};
}

bool has_changed(const Size& before, const Size& now) {
    return now.nodes > before.nodes || now.edges > before.edges || now.vectors > before.vectors || now.gap < before.gap;
}

// After a trial that changed nothing: lower bounds may gain less from now on. False where that was so already.
bool go_on(BeliefGraph& graph) {
    const bool could = graph.least_gain > 0.0;
    graph.least_gain = 0.0;
    return could;
}

}  // namespace

Search make_search(Arena& arena, const HiddenModel& model, Index most_nodes) {
    Search search;
    search.graph = make_belief_graph(arena, model, most_nodes);
    search.path = arena.take<Index>(model.ends ? smaller(model.stages, tuning.bayes_deepest) : tuning.bayes_deepest);
    search.roots = arena.take_unfilled<Index>(most_nodes);
    return search;
}

void add_root(Search& search, Index node) {
    for (Index i = 0; i < search.num_roots; ++i) {
        if (search.roots[i] == node) return;
    }
    search.roots[search.num_roots++] = node;
}

SearchResult improve(Search& search, const SearchTask& task) {
    SearchResult found;
    refresh(search.graph, task.root);
    while (gap_of(search.graph, task.root) > task.tolerance) {
        if (found.trials == task.most_trials || search.graph.full()) {
            found.status = Status::out_of_iterations;
            break;
        }
        const Size before = size_of(search.graph, task.root);
        const Index length = descend(search, task);
        for (Index i = length - 1; i >= 0; --i) back_up(search.graph, search.path[i]);
        ++found.trials;
        if (!has_changed(before, size_of(search.graph, task.root)) && !go_on(search.graph)) {
            found.status = Status::stalled;
            break;
        }
    }
    return found;
}

}  // namespace vb
