// The facets near a point: near it no other can be violated, since normals have length 1.
//
// Most facets of a large block are far away from where a climb stands. With slack_i at a reference point, those above a
// radius stay slack everywhere within it, so that programs and tests near the reference look at the others alone.
#pragma once

#include "common/arena.hpp"
#include "model/feasible_set.hpp"

namespace vb {

struct NearFacets {
    bool ready = false;   // whether there is a reference
    bool of_this_climb = false;  // and the climb at hand has chosen it
    double radius = 0.0;
    Vector reference;     // (free,) y
    Vector slack;         // (facets,) of all facets at the reference
    Index count = 0;
    Indices facet;        // (count,) which they are, in rising order
    Indices place;        // (facets,) the place of a facet among them, or -1
    Vector normals, by_axis, offsets;  // as in Facets
    Vector values;        // (count,)

    Facets view(Index free) const { return {count, free, normals.data, by_axis.data, offsets.data}; }
};

// Room for the facets of a block, or none where the block has too few for this to pay.
NearFacets make_near_facets(Arena& arena, const FeasibleSet& set);

// Looks around y unless the last look still serves a step of some length there. False where the block has no room.
// Programs ask for a look of the same climb, so that their rounding does not depend on the climbs before.
enum class Look { any, of_this_climb };
bool look_around(NearFacets& near, const Block& block, const double* y, Look look);

// Whether no facet but the near ones can be violated at y.
bool within_reach(const NearFacets& near, const double* y, Index free);

}  // namespace vb
