// Upper bounds on a regular grid of beliefs, between which V, being convex, lies below any interpolation (Lovejoy 1991).
//
// The grid holds the beliefs whose probabilities are multiples of 1/resolution. The cell of a belief has K corners at most,
// found by sorting (Freudenthal's triangulation). Values begin with the candidate known, and sweeps of the Bellman operator only
// lower them, so that they are upper bounds whenever one stops.
#pragma once

#include "bayes/hidden_model.hpp"
#include "common/arena.hpp"

namespace vb {

struct BeliefGrid {
    const HiddenModel* model = nullptr;
    Index resolution = 1;  // 1: the corners alone, and there is no grid
    Index num_points = 0;
    Vector values;         // (places, points)
    Matrix binomials;      // (resolution + K + 1, K + 1)
    // Room for one cell.
    Vector above, rest;    // (K,)
    Indices order, counts; // (K,)
    Indices corner;        // (K,) points
    Vector weight;         // (K,)

    bool is_there() const { return resolution > 1; }
};

// The finest grid that can be afforded, with its values.
BeliefGrid make_belief_grid(Arena& arena, const HiddenModel& model);

// The upper bound at a belief.
double grid_bound(BeliefGrid& grid, Index place, const double* belief);

}  // namespace vb
