// Lower bounds of V(place, .): vectors, each of them what one way of going on earns under every candidate.
//
// The value of a vector at a belief is their product, and the best vector of the place counts. A vector begins with an action
// and goes on, after each successor, with a vector of the place it leads to: so that the best one can be carried out.
#pragma once

#include "common/arena.hpp"

namespace vb {

struct LowerBounds {
    Index count = 0;
    Index candidates = 0;
    Index most_followers = 0;   // of a vector
    Vector values;              // (vectors, K)
    Indices place, action;      // (vectors,)
    Indices next;               // (vectors,) the next one of the same place, or -1
    Indices first, last;        // (places,) or -1
    View<std::int32_t> follow;  // (vectors, most_followers) the vectors it goes on with; -1 after the last

    const double* of(Index vector) const { return values.data + vector * candidates; }
    bool full() const { return count == place.size; }
};

struct LowerSizes {
    Index vectors, places, candidates, followers;
};

LowerBounds make_lower_bounds(Arena& arena, const LowerSizes& sizes);

// Makes room for one more vector of a place, whose values the caller fills in; it has no followers yet.
Index add_vector(LowerBounds& bounds, Index place, Index action);

// Marks what vectors that are marked go on with, and so forth.
void mark_followers(const LowerBounds& bounds, std::uint8_t* marked);

}  // namespace vb
