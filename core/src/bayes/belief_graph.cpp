#include "bayes/belief_graph.hpp"

#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

Index most_successors(const HiddenModel& model) {
    Index most = 1;
    for (Index pair = 0; pair < model.num_pairs(); ++pair) {
        most = larger(most, model.pair_begin[pair + 1] - model.pair_begin[pair]);
    }
    return most;
}

// The plane of an action: R_k + gamma sum_s' P_k(s') known_k(s').
void fill_planes(BeliefGraph& graph) {
    const HiddenModel& model = *graph.model;
    const Index K = model.num_candidates;
    for (Index place = 0; place < model.num_places(); ++place) {
        for (Index a = 0; a < model.num_actions; ++a) {
            const Index pair = model.pair(place, a);
            double* out = graph.plane.data + (place * model.num_actions + a) * K;
            copy(model.reward + pair * K, K, out);
            if (!model.is_allowed(pair)) continue;
            for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
                const Index after = model.place_after(place, model.successor[i]);
                if (after < 0) continue;
                const double *p = model.p + i * K, *known = model.known + after * K;
                for (Index k = 0; k < K; ++k) out[k] += model.discount * p[k] * known[k];
            }
        }
    }
}

Index power_of_two_from(Index least) {
    Index size = 16;
    while (size < least) size *= 2;
    return size;
}

// A probability in whole numbers: beliefs that agree in all of them are one, which moves no value by more than rounding.
Index in_whole(double probability) {
    return static_cast<Index>(probability * static_cast<double>(Index{1} << tuning.bayes_belief_bits) + 0.5);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ (hash >> 32);
}

std::uint64_t hash_of(Index place, const double* belief, Index n) {
    std::uint64_t hash = static_cast<std::uint64_t>(place);
    for (Index k = 0; k < n; ++k) hash = mixed(hash, static_cast<std::uint64_t>(in_whole(belief[k])));
    return hash;
}

bool same_belief(const double* a, const double* b, Index n) {
    for (Index k = 0; k < n; ++k) {
        if (in_whole(a[k]) != in_whole(b[k])) return false;
    }
    return true;
}

// The best of the actions, with the plane of those that are untried.
double highest(const BeliefGraph& graph, Index node) {
    const Index A = graph.model->num_actions;
    double best = -kInfinity;
    for (Index a = 0; a < A; ++a) best = larger(best, graph.tried[node * A + a].high);
    return best;
}

void begin_node(BeliefGraph& graph, Index made, Index place, const double* belief) {
    const HiddenModel& model = *graph.model;
    const Index K = model.num_candidates, A = model.num_actions;
    copy(belief, K, graph.beliefs.data + made * K);
    graph.nodes[made] = {place, -kInfinity, 0.0, -1, -1};
    for (Index a = 0; a < A; ++a) {
        const bool allowed = model.is_allowed(model.pair(place, a));
        const double high = allowed ? dot(graph.plane.data + (place * A + a) * K, belief, K) : -kInfinity;
        graph.tried[made * A + a] = {-1, -1, 0.0, high};
    }
    const double high = highest(graph, made);
    graph.nodes[made].high = graph.grid.is_there() ? smaller(high, grid_bound(graph.grid, place, belief)) : high;
    refresh(graph, made);
}

// What the edges of an action are worth, by the lower and by the upper bounds at their ends.
struct Worth {
    double low, high;
};

Worth worth_of(const BeliefGraph& graph, const Tried& tried) {
    double low = 0.0, high = 0.0;
    for (Index e = tried.begin; e < tried.end; ++e) {
        const Edge& edge = graph.edges[e];
        if (edge.node < 0) continue;
        low += edge.p * graph.nodes[edge.node].low;
        high += edge.p * graph.nodes[edge.node].high;
    }
    const double gamma = graph.model->discount;
    return {tried.reward + gamma * low, tried.reward + gamma * high};
}

// The vector that takes an action and goes on with the best vectors one step on.
Index step_back(BeliefGraph& graph, Index node, Index action) {
    const HiddenModel& model = *graph.model;
    const Index K = model.num_candidates, place = graph.nodes[node].place;
    const Tried& tried = graph.tried[node * model.num_actions + action];
    const Index made = add_vector(graph.lower, place, action);
    double* out = graph.lower.values.data + made * K;
    std::int32_t* follow = graph.lower.follow.data + made * graph.lower.most_followers;
    copy(model.reward + model.pair(place, action) * K, K, out);
    // Successors that this belief rules out may follow from another: there, the first vector of the place will do.
    Index e = tried.begin;
    const Index pair = model.pair(place, action);
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        const bool seen = e < tried.end && graph.edges[e].transition == i;
        const Index after = model.place_after(place, model.successor[i]);
        const Index end = seen ? graph.edges[e].node : -1;
        e += seen ? 1 : 0;
        if (after < 0) continue;
        const Index vector = end >= 0 ? graph.nodes[end].vector : graph.lower.first[after];
        *follow++ = static_cast<std::int32_t>(vector);
        const double *p = model.p + i * K, *value = graph.lower.of(vector);
        for (Index k = 0; k < K; ++k) out[k] += model.discount * p[k] * value[k];
    }
    return made;
}

void raise_low(BeliefGraph& graph, Index node, Index action, double low) {
    Node& at = graph.nodes[node];
    const double least = graph.least_gain * (at.high - at.low) + kEpsilon * 64.0 * (1.0 + vb::fabs(low));
    if (action < 0 || low <= at.low + least || graph.lower.full()) return;
    at.vector = step_back(graph, node, action);
    at.low = dot(graph.lower.of(at.vector), graph.belief(node), graph.model->num_candidates);
}

}  // namespace

bool BeliefGraph::full() const {
    const Index more = model->num_actions * lower.most_followers;
    return num_nodes + more > nodes.size || num_edges + more > edges.size || lower.full();
}

BeliefGraph make_belief_graph(Arena& arena, const HiddenModel& model, Index most_nodes) {
    const Index K = model.num_candidates, A = model.num_actions, places = model.num_places();
    const Index successors = most_successors(model), edges = tuning.bayes_edges_per_node * most_nodes;
    BeliefGraph graph;
    graph.model = &model;
    graph.least_gain = tuning.bayes_vector_gain;
    graph.lower = make_lower_bounds(arena, {most_nodes + places * K, places, K, successors});
    graph.grid = make_belief_grid(arena, model);
    graph.nodes = arena.take_unfilled<Node>(most_nodes);
    graph.beliefs = arena.take_unfilled<double>(most_nodes * K);
    graph.tried = arena.take_unfilled<Tried>(most_nodes * A);
    graph.edges = arena.take_unfilled<Edge>(edges);
    graph.table = arena.take_unfilled<Index>(power_of_two_from(2 * most_nodes));
    graph.plane = arena.take<double>(places * A * K);
    graph.scratch = arena.take<double>(K);
    if (arena.failed()) return graph;
    fill<Index>(graph.table.data, graph.table.size, -1);
    fill_planes(graph);
    return graph;
}

Index find_node(BeliefGraph& graph, Index place, const double* belief) {
    const Index K = graph.model->num_candidates;
    const std::uint64_t mask = static_cast<std::uint64_t>(graph.table.size) - 1;
    std::uint64_t slot = hash_of(place, belief, K) & mask;
    for (; graph.table[static_cast<Index>(slot)] >= 0; slot = (slot + 1) & mask) {
        const Index node = graph.table[static_cast<Index>(slot)];
        if (graph.nodes[node].place == place && same_belief(graph.belief(node), belief, K)) return node;
    }
    const Index made = graph.num_nodes++;
    graph.table[static_cast<Index>(slot)] = made;
    begin_node(graph, made, place, belief);
    return made;
}

void refresh(BeliefGraph& graph, Index node) {
    Node& at = graph.nodes[node];
    const Index K = graph.model->num_candidates;
    const double* belief = graph.belief(node);
    const LowerBounds& lower = graph.lower;
    Index vector = at.seen_vector < 0 ? lower.first[at.place] : lower.next[at.seen_vector];
    for (; vector >= 0; vector = lower.next[vector]) {
        const double value = dot(lower.of(vector), belief, K);
        if (value > at.low) {
            at.low = value;
            at.vector = vector;
        }
        at.seen_vector = vector;
    }
}

void try_action(BeliefGraph& graph, Index node, Index action) {
    const HiddenModel& model = *graph.model;
    const Index K = model.num_candidates, place = graph.nodes[node].place, pair = model.pair(place, action);
    Tried& tried = graph.tried[node * model.num_actions + action];
    tried.reward = dot(model.reward + pair * K, graph.belief(node), K);
    tried.begin = graph.num_edges;
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        const double *belief = graph.belief(node), *p = model.p + i * K;
        double total = 0.0;
        for (Index k = 0; k < K; ++k) total += graph.scratch[k] = belief[k] * p[k];
        if (!(total > 0.0)) continue;
        for (Index k = 0; k < K; ++k) graph.scratch[k] /= total;
        const Index after = model.place_after(place, model.successor[i]);
        const Index end = after < 0 ? -1 : find_node(graph, after, graph.scratch.data);
        graph.edges[graph.num_edges++] = {total, end, i};
    }
    tried.end = graph.num_edges;
    tried.high = smaller(tried.high, worth_of(graph, tried).high);
}

void back_up(BeliefGraph& graph, Index node) {
    const Index A = graph.model->num_actions;
    double low = -kInfinity;
    Index chosen = -1;
    for (Index a = 0; a < A; ++a) {
        Tried& tried = graph.tried[node * A + a];
        if (tried.begin < 0) continue;
        const Worth worth = worth_of(graph, tried);
        tried.high = smaller(tried.high, worth.high);
        if (worth.low > low) {
            low = worth.low;
            chosen = a;
        }
    }
    raise_low(graph, node, chosen, low);
    graph.nodes[node].high = smaller(graph.nodes[node].high, highest(graph, node));
}

}  // namespace vb
