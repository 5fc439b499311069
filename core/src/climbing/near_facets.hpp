// The facets near a point: near it no other can be violated, since normals have length 1.
//
// Most facets of a large block are far away from where a climb stands. With slack_i at a reference point, those above a
// radius stay slack everywhere within it, so that programs and tests near the reference look at the others alone. What they
// find does not depend on where the reference is.
#pragma once

#include "common/arena.hpp"
#include "linalg/quadratic_program.hpp"

namespace vb {

struct NearFacets {
    bool ready = false;  // whether there is a reference
    double radius = 0.0;
    Vector reference;    // (free,) y
    Index count = 0;
    Indices facet;       // (count,) which they are, in rising order; room for none where a block has few
};

// Room for the facets of a block, or none where the block has too few for this to pay.
NearFacets make_near_facets(Arena& arena, const FeasibleSet& set);

// Whether no facet is violated at y by more than rounding; `slack` is (facets,) scratch.
bool all_hold(NearFacets& near, const Block& block, const double* y, double* slack);

// The facets near y for a program there, with their slack and that of the `tried`.
Nearby nearby_at(NearFacets& near, const Block& block, const double* y, ConstIndices tried, double* slack);

}  // namespace vb
