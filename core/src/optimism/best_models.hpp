// For every pair (s, a) the theta of a confidence set that is best for the values V:
//
//     maximise  sum_s' <phi(s'|s,a), theta> (r(s,a,s') + gamma V(s'))   over P within one ellipsoid or several.
//
// A pair's features act in one block of P, so only that block's y is chosen. Each problem starts from what the last one
// of its pair ended with.
#pragma once

#include "model/model.hpp"
#include "optimism/confidence_ball.hpp"
#include "optimism/intersection.hpp"
#include "optimism/vertex.hpp"

namespace vb {

// What the last problem of every pair ended with, within one ellipsoid.
struct WarmStart {
    Vector s;            // (pairs,) its multiplier
    Indices num_active;  // (pairs,)
    Indices active;      // (pairs, most free) facets, within the block
    Vector y;            // (pairs, most free)
};

WarmStart make_warm_start(Arena& arena, Index pairs, Index most_free);

// One ellipsoid of the confidence set, placed, with its warm starts.
struct ConfidenceLayer {
    PlacedEllipsoid placed;
    WarmStart warm;
};

// The y of every pair that was last looked at, and by how much it had to shrink to satisfy every facet: vertices come
// again and again, and models may have many facets.
struct PulledPoints {
    Vector y;       // (pairs, most free); not a number before the first
    Vector shrink;  // (pairs,)
};

struct BestModels {
    const Model* model = nullptr;
    const FeasibleSet* set = nullptr;
    View<ConfidenceLayer*> layers;  // the ellipsoids in force, all of which hold
    Indices tight;                  // (pairs,) the ellipsoid that decided
    Vector chosen;                  // (pairs, most free) the y chosen
    Vector gain;                    // (free of a block,) scratch: c in the coordinates y
    Vector theta;                   // (d,) scratch; only the entries of one block are used at a time
    View<Ellipsoid> in_block;       // (ellipsoids,) scratch
    PulledPoints pulled;
    SupportWork support;
    VertexWork vertex;
    IntersectionWork intersection;

    double* chosen_for(Index pair) const { return chosen.data + pair * set->most_free; }
};

// All but what depends on the number of ellipsoids: see `make_room_for`.
BestModels make_best_models(Arena& arena, const Model& model, const FeasibleSet& set);

// Room to work with that many ellipsoids at once.
void make_room_for(Arena& arena, Index ellipsoids, BestModels& models);

// The worst gap of all pairs, infinite where some problem failed; the status says how the first of them did.
struct ChoiceEnd {
    double gap = 0.0;
    Status status = Status::ok;
};

// Chooses for V (S,); p (transitions,) becomes the probabilities of what was chosen.
ChoiceEnd choose_models(BestModels& models, const double* V, double* p);

}  // namespace vb
