// Scratch of a climb, sized once for a model.
#pragma once

#include "climbing/near_facets.hpp"
#include "climbing/problem.hpp"

namespace vb {

inline constexpr double kTarget = 1e-10;       // the residual at which a climb ends
inline constexpr double kSweptTarget = 1e-9;   // the same where sweeps compute values, whose error is no less
inline constexpr Index kChunk = 256;  // observed transitions taken at a time

// For one block of dense features.
struct DenseWork {
    Matrix B;        // (free, free) curvature of the program
    Matrix concave;  // of the part without value
    Matrix bent;     // Hessian of the value
    Matrix Z, Y;     // (S, free), with room beyond (product.hpp)
    Matrix scaled;   // (kChunk, free) feature rows, weighted; the same
    Vector row;      // (free,)
};

// For products of blocks with sparse features; `along`, `curved`, dV and dw for dense ones, too, where there are factors.
struct ProductWork {
    Vector hessian;  // flat (coordinates, coordinates) blocks, lower triangles
    Matrix half;     // (most coordinates, most free)
    Vector last;     // (free,) the gradient of the last step
    Vector concave;  // flat (free, free) blocks
    Vector inverse;  // flat (free, free) blocks: Z (Z'BZ)^{-1} Z' on the face of each
    Vector residual, preconditioned, search, image, correction;  // (free,)
    Vector along, curved;  // (d,)
    Vector dV, dw;         // (S,)
    Indices touched;       // (blocks,)
    View<std::uint8_t> met;  // (blocks,)
};

struct Surrogate;

struct Workspace {
    Planner planner;
    QpWork qp;
    NearFacets near;
    DenseWork dense;
    ProductWork product;
    Vector gradient;    // (d,) of f in theta
    Vector value_gradient;  // (d,) of its part bias * V
    Vector slope;       // (free,) of f in y
    Vector visits;      // (S,) discounted visits from the objective's state on
    Vector step;        // (free,)
    Vector multiplier;  // (free,) of the active facets, block by block
    Vector trial_y;     // (free,)
    Vector trial_p;     // (transitions,)
    Vector kept, best;  // (free,)
    Vector rest;        // (free,)
    Vector slack;       // (most facets,)
    Vector seen_p, seen_n;  // (kChunk,)
    Surrogate* surrogate = nullptr;  // for models whose plans cost most (surrogate.hpp), or null
    double target = kTarget;  // the residual at which a climb ends
    double precision = 0.0;   // of the value in f at hand, where sweeps computed it
    double size = 1.0;      // max(1, |gradient|)
    double residual = 1.0;  // relative KKT residual at the point
    double gap = 0.0;
};

Workspace make_workspace(Arena& arena, const Model& model, const FeasibleSet& set, bool factors);

}  // namespace vb
