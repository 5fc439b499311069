// Points of P at which the value-biased objective is known: the vertices of the simplices that P is cut into.
#pragma once

#include "climbing/problem.hpp"
#include "planning/planner.hpp"

namespace vb {

// Row v of each belongs to vertex v; rows from `count` on are room.
struct Vertices {
    Index count = 0;
    Index room = 0;
    Matrix y;             // (room, free)
    Matrix theta;         // (room, d)
    Matrix p;             // (room, transitions) probabilities, none negative
    Matrix V;             // (room, S) V* there
    Grid<Index> policy;   // (room, S) a policy that attains it
};

Vertices make_vertices(Arena& arena, const Problem& problem, Index room);

// Fills in all that belongs to y[count], from the policy that stands there, and counts the vertex. Returns the objective
// there, minus infinity where something observed has probability 0. `lu` is room for factors.
double add_vertex(const Problem& problem, Planner& planner, Matrix lu, Vertices& vertices);

}  // namespace vb
