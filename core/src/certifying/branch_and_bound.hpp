// Branch and bound for the value-biased objective: a true upper bound on its maximum over P.
//
// P is cut into simplices. On each,
//
//     f <= h + bias * c(state),
//
// where c bounds what V* has above its linear interpolation (value_excess.hpp) and h, the log-likelihood plus the
// interpolated value, is concave and bounded by its tangent (concave_bound.hpp). Cells are bisected across their widest
// edge, the most promising first.
#pragma once

#include "certifying/cell_queue.hpp"
#include "certifying/concave_bound.hpp"
#include "certifying/value_excess.hpp"

namespace vb {

// The simplices P is cut into; those from `count` on are room.
struct Cells {
    Index count = 0;
    Grid<Index> corners;  // (room, free + 1) vertices
};

struct Certificate {
    double bound = kInfinity;   // f is nowhere greater
    double best = -kInfinity;   // the greatest f that is known
    Index vertex = -1;          // where it was met, if here
    Index cells = 0;            // how many were bounded
    Status status = Status::converged;  // out_of_iterations: the room was used up first
};

struct CertificateWork {
    Vertices vertices;
    Cells cells;
    CellQueue queue;
    Planner planner;
    Matrix lu;  // (S, S)
    ValueExcessWork excess;
    ConcaveBoundWork concave;
};

// Room for a triangulation of so many points and cells, and for so many bisections.
CertificateWork make_certificate_work(Arena& arena, const Problem& problem, Index points, Index cells,
                                      Index bisections);

// The triangulation: the first rows of vertices.y, vertices.policy at any policy, and the first cells.
// Bisects until the bound is within `tolerance` of the best value known, `best` at first, or the room is used up.
Certificate branch_and_bound(const Problem& problem, Index points, double best, double tolerance,
                             CertificateWork& work);

}  // namespace vb
