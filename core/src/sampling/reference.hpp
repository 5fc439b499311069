// The reference point of a block, and the scale of directions there.
//
// Directions of the walk are normal with the covariance that the posterior has near the point where
//
//     sum n log p + sum share log(slack)      over what was seen and over the facets
//
// is greatest: M is minus the Hessian there, M = L L', and directions are L^{-T} z. The slacks make M see directions in
// which the posterior is thin because it leans against a facet. Many facets that nearly coincide would count too
// much, so each has a share: those of John's ellipsoid of P, the largest inside, found once per model by multiplying with
// leverages. All this depends on the data alone, never on the chain.
#pragma once

#include "common/tuning.hpp"
#include "sampling/posterior.hpp"

namespace vb {

// Room for Newton's method in the largest block.
struct ReferenceWork {
    Vector square;    // (free, free) the factor L of M
    Vector gradient;  // (free,)
    Vector there;     // (free,) a trial
    Vector rate;      // (longest,) 1 / p or 1 / slack; longest: transitions seen or facets, whichever are more
    Vector scale;     // (longest,) n / p or share / slack
    Vector scaled;    // (longest,) scratch

    Matrix factor(Index m) const { return {square.data, m, m}; }
};

ReferenceWork make_reference_work(Arena& arena, const Posterior& posterior);

// Moves the block's own reference to the maximum by Newton's method, with at most `limit` steps. The data are measured
// there, and the factor belongs to it (to the last but one where the limit ends it).
void refer(BlockData& data, double* reference, Index limit, ReferenceWork& work);

// Sets the shares of all facets to those of the largest ellipsoid inside each block; `center` (free,), 0 at first,
// becomes the ellipsoids' centre.
void share_out(Posterior& posterior, double* center, BlockData& data, ReferenceWork& work);

}  // namespace vb
