// An order for elimination that fills little: the row with the fewest neighbours next, by an upper bound on how many it
// has (Amestoy, Davis and Duff 1996, "An approximate minimum degree ordering algorithm").
//
// A pivot that was taken becomes an element: its neighbours are neighbours of each other from then on, which is kept as
// one list, not as pairs. Rows that have become alike are one from then on. Ties are broken by what came last into a list,
// so the order depends on the graph alone.
#pragma once

#include "linalg/graph.hpp"

namespace vb {

// order becomes a permutation of the rows. False where memory ran out, or where the lists of elements grow so much that
// factors would take far more products than `most`; order is then undefined.
bool minimum_degree(Arena& scratch, const Graph& graph, double most, std::int32_t* order);

}  // namespace vb
