// Heuristic search value iteration (Smith and Simmons 2004; Kurniawati, Hsu and Lee 2008) on the graph of beliefs.
//
// A trial goes from the root along the action that promises most, to the successor whose gap weighs most, until a gap is as
// small as it needs to be there, tolerance / gamma^t after t steps; on the way back both bounds are renewed.
#pragma once

#include "bayes/belief_graph.hpp"
#include "common/status.hpp"

namespace vb {

struct Search {
    BeliefGraph graph;
    Indices path;   // nodes of a trial
    Indices roots;  // nodes that were asked for
    Index num_roots = 0;
};

struct SearchTask {
    Index root = 0;  // a node
    double tolerance = 0.0;
    Index most_trials = 0;
};

struct SearchResult {
    Index trials = 0;
    Status status = Status::ok;
};

Search make_search(Arena& arena, const HiddenModel& model, Index most_nodes);

// Notes a node that was asked for.
void add_root(Search& search, Index node);

// Brings the bounds of the root within the tolerance, if trials and room suffice.
SearchResult improve(Search& search, const SearchTask& task);

}  // namespace vb
