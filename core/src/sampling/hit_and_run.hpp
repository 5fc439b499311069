// Hit-and-run for the posterior: a Markov chain in the coordinates y of P that leaves the posterior as it is.
//
// Each block has its own chain. A step draws a direction L^{-T} z (reference.hpp), then moves along that line by a slice
// (slice.hpp): a level is drawn below the log density at t = 0, and t is uniform in what lies above it. Random numbers
// are given, so that chance stays with the caller.
#pragma once

#include "sampling/posterior.hpp"
#include "sampling/reference.hpp"

namespace vb {

// Standard normal and uniform random numbers, used in order: per block of m free coordinates, thinning * m steps,
// each with m normals and two uniforms.
struct Chance {
    Index thinning = 0;
    const double* normals = nullptr;
    const double* uniforms = nullptr;
};

struct Sampler {
    Posterior posterior;
    BlockData data;
    ReferenceWork work;
    Vector y;          // (free,) the chain
    Vector reference;  // (free,) where directions were scaled last
    Vector center;     // (free,) of the largest ellipsoids inside the blocks
    Vector direction;  // (free,) of the largest block
    Vector along;      // (facets,) of the largest block
    Vector ratio;      // (transitions,) of the largest block
};

// Lays out the room that depends on the sizes of the model, then what depends on the sizes of its blocks. False where
// memory has run out.
bool make_sampler(Arena& arena, const Model& model, const FeasibleSet& set, Sampler& sampler);

// Moves y along the posterior of the counts (transitions,).
void sample(Sampler& sampler, const double* counts, Chance chance);

}  // namespace vb
