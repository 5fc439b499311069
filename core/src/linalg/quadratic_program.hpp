// Small strictly convex quadratic programs by the dual active-set method of Goldfarb and Idnani (1983).
//
//     maximise  <g, d> - d' B d / 2   subject to   normals d + slack >= 0
//
// starts at the unconstrained maximum and adds violated facets one by one, dropping those whose multiplier would
// turn negative: degenerate vertices and redundant facets do it no harm, and no feasible start is needed. Facets
// that were active at the last solve are tried first, then those that the last scan found violated most, so that
// all facets are scanned only a few times. Where the frame of the last program is still there, a program begins at the
// maximum on the face on which that one ended: facets whose multiplier is negative there are dropped, and the method goes on
// from the maximum of what is left. What it ends with is checked against the optimality conditions.
#pragma once

#include "common/arena.hpp"
#include "model/feasible_set.hpp"

namespace vb {

enum class QpStatus { solved, not_convex, infeasible, too_long };

// Facets near the point y where a program is stated. While y + d is within the radius of the reference, no other can be
// violated, and no other is looked at.
struct Nearby {
    ConstIndices facet;       // which they are; none where all are looked at from the start
    const double* reference;  // (n,)
    double radius;
    const double* y;          // (n,)
    double* slack;            // the program's; where it is not complete, of the facets nearby and of those to try first
    bool complete;            // slack is there for all facets
};

// B by its products alone: out = B v.
struct Curve {
    void (*multiply)(const void* where, const double* v, double* out);
    const void* where;
};

struct QuadraticProgram {
    ConstMatrix B;         // (n, n) symmetric; empty: the frame at hand is B's on its face, and `curve` is asked beyond
    const double* g;       // (n,)
    Facets facets;         // only the normals are used; the offsets, too, where `nearby` completes the slack
    const double* slack;   // (facets,) at d = 0
    ConstMatrix root = {};  // L^{-1} of B = L L', where the caller has it; otherwise it is computed
    Nearby* nearby = nullptr;  // or null: all facets are looked at
    const Curve* curve = nullptr;
};

// The frame of a program. Rows are orthonormal in the norm of B: the first ones, as many as there are active facets, span the
// normals of these, and `upper` has the coefficients of the normals in its columns; the others span the face, with
// Z (Z'BZ)^{-1} Z' = sum of their outer products. Room for the largest block: a program of n variables uses (n, n) of it.
struct Frame {
    Matrix rows, upper;

    Frame sized(Index n) const { return {{rows.data, n, n}, {upper.data, n, n}}; }
};

Frame make_frame(Arena& arena, Index most_free);

// On entry active[:num_active] are the facets to try first; at the end the active ones, with their multipliers.
struct QpSolution {
    double* d = nullptr;           // (n,)
    Index* active = nullptr;       // (n,)
    double* multiplier = nullptr;  // (n + 1,)
    Index num_active = 0;
    Frame frame;           // what the solve leaves ...
    bool framed = false;   // ... and, on entry, whether the last program that did ended on these facets
    Index turns = 0;      // at the end: how many facets were added on the way
};

// Scratch of a solve, for the largest block.
struct QpWork {
    Matrix lower, square;                     // (n, n)
    Vector direction, normal_step, r, depth;  // (n + tuning.program_remembered)
    Indices guess;                            // the same
    Vector values;                            // (facets,)
    View<std::uint8_t> is_active;             // (facets,)
};

QpWork make_qp_work(Arena& arena, Index most_free, Index most_facets);

QpStatus solve_qp(const QuadraticProgram& program, QpSolution& solution, QpWork& work);

// What a step on the face has shown of B: its image as the frame has it, and as it turned out to be.
struct Secant {
    const double* step;   // (n,) s = Z (Z'BZ)^{-1} Z' b
    const double* image;  // (n,) b, orthogonal to the frame's rows of active facets
    const double* shown;  // (n,) q, B s as it turned out to be
};

// Corrects a frame of n rows so that it maps q to s, by as little as that takes: the update of Broyden, Fletcher, Goldfarb
// and Shanno in product form (Brodlie, Gourlay and Greenstadt, 1973). With K = sum of z z' over the rows z of the face,
// b = B s and s = K b,
//
//     z + <u, z> s     for every row z,       u = b / sqrt(<s,q> <s,b>) - q / <s,q>
//
// are the rows of the BFGS update of K, which maps q to s. They stay in the face, and K stays positive definite. Rows of active
// facets become orthogonal to q, as they were to b, which is what makes multipliers those at the end of a step. `scratch` is
// (n,). False, and the frame as it was, where q shows no curvature along s.
bool learn(const Secant& secant, Index n, double* scratch, Frame frame);

}  // namespace vb
