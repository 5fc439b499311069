// Ellipsoids |theta - estimate|^2 in Sigma <= radius^2 as P sees them: block by block, in the coordinates y.
//
// With theta = center + basis y in a block, H = basis' Sigma basis, middle = H^{-1} basis' Sigma (estimate - center),
//
//     |theta - estimate|^2 = rest + |y - middle|^2 in H,
//
// rest being what no y can change. Blocks share the square radius: what one block may use of it (its `room`) is
// radius^2 less the rests of all blocks and less what the nearest points of P use in the others.
#pragma once

#include "common/status.hpp"
#include "optimism/ellipsoid.hpp"

namespace vb {

// An ellipsoid as it is given: Sigma is (coordinates, coordinates) block after block, estimate is (d,).
struct ConfidenceEllipsoid {
    const double* sigma = nullptr;
    const double* estimate = nullptr;
    double radius = 0.0;
};

// The same in the coordinates y of all blocks, one after another.
struct PlacedEllipsoid {
    Vector H;       // blocks of (free, free)
    Vector root;    // blocks of (free, free): L^{-1} of H = L L'
    Vector middle;  // (free,) y next to the estimate
    Vector near;    // (free,) y of the point of P nearest to it
    Vector slack;   // (facets,) normals middle + offsets
    Vector room;    // (blocks,) what a block may use of radius^2

    Ellipsoid in_block(const Block& block, Index number) const {
        const Index m = block.num_free, at = block.first_free_square;
        return {{H.data + at, m, m}, {root.data + at, m, m}, middle.data + block.first_free, room[number]};
    }
};

PlacedEllipsoid make_placed_ellipsoid(Arena& arena, const FeasibleSet& set);

struct PlaceWork {
    Matrix product;  // (coordinates, free) Sigma basis
    Matrix lower;    // (free, free)
    Vector away;     // (coordinates,) estimate - (center + basis y)
    Vector pull;     // (free,)
    Indices active;  // (free,)
};

PlaceWork make_place_work(Arena& arena, const FeasibleSet& set);

// missed: the square distance of P from the estimate less radius^2, so that the set is empty where it is positive.
// The status is not_convex where Sigma is not positive definite, infeasible where P has no point.
struct Placement {
    double missed = 0.0;
    Status status = Status::ok;
};

Placement place_ellipsoid(const FeasibleSet& set, const ConfidenceEllipsoid& given, PlacedEllipsoid& placed,
                          PlaceWork& work, SupportWork& support);

}  // namespace vb
