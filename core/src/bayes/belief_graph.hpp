// What was looked at: nodes, each a place and a belief with its bounds, and for each action that was tried the nodes that it
// leads to. Ways that lead to the same place and belief meet in one node.
#pragma once

#include "bayes/belief_grid.hpp"
#include "bayes/hidden_model.hpp"
#include "bayes/lower_bounds.hpp"
#include "common/arena.hpp"

namespace vb {

struct Edge {
    double p;           // probability of the successor
    Index node;         // or -1 at the end
    Index transition;   // of the model
};

struct Node {
    Index place;
    double low, high;
    Index vector;       // the best lower bound, or -1
    Index seen_vector;  // the last one that was looked at, or -1
};

// What is known of an action at a node: untried, a plane through the values with the candidate known bounds it from above.
struct Tried {
    Index begin = -1, end = -1;  // its edges, or -1 where it is untried
    double reward = 0.0, high = 0.0;
};

struct BeliefGraph {
    const HiddenModel* model = nullptr;
    LowerBounds lower;
    BeliefGrid grid;
    Index num_nodes = 0, num_edges = 0;
    double least_gain = 0.0;  // of the gap at a node: a new lower bound has to gain more
    View<Node> nodes;
    Vector beliefs;     // (nodes, K)
    View<Tried> tried;  // (nodes, A)
    View<Edge> edges;
    Indices table;      // nodes by hash, or -1
    Vector plane;       // (places * A, K) of each action, the candidate known; minus infinity where it is not allowed
    Vector scratch;     // (K,)

    const double* belief(Index node) const { return beliefs.data + node * model->num_candidates; }
    bool full() const;
};

BeliefGraph make_belief_graph(Arena& arena, const HiddenModel& model, Index most_nodes);

// The node of a place and a belief (a distribution), made where there is none.
Index find_node(BeliefGraph& graph, Index place, const double* belief);

// Takes in lower bounds that were found since the node was last looked at.
void refresh(BeliefGraph& graph, Index node);

// Makes the edges of an action, and the nodes at their ends.
void try_action(BeliefGraph& graph, Index node, Index action);

// Renews the bounds of a node from those one step on.
void back_up(BeliefGraph& graph, Index node);

}  // namespace vb
