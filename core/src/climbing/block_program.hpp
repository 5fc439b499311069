// The quadratic program that gives one block its step.
#pragma once

#include "climbing/near_facets.hpp"
#include "climbing/problem.hpp"

namespace vb {

struct ProgramScratch {
    QpWork qp;
    Frame frame;        // for points that keep none
    Vector multiplier;  // (most free + 1,)
    Vector slack;       // (most facets,)
    NearFacets near;
};

ProgramScratch make_program_scratch(Arena& arena, const Model& model, const FeasibleSet& set);

// Adds a multiple of the identity to B that keeps the unconstrained maximum within a million diameters. The ridge is in B
// already; where it is not enough for a safe factorisation, more is added.
void soften(Matrix B, const double* slope, double diameter, double ridge);

struct Ascent;

// Solves for the step of block b, with curvature B: the step, its active facets and multipliers, and the point's frame. The
// first `num_guess` of the active facets are tried first.
QpStatus solve_block(Ascent& run, Index b, Matrix B, Index num_guess);

// The same for one block of dense features, on the frame that the last program left, as it is: only where a facet is dropped
// the curvature is asked for, along the direction that becomes free. False where there is no such frame, or it is of no use.
bool solve_on_frame(Ascent& run);

}  // namespace vb
