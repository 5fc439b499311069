// One solve of a quadratic program, for the sources that share it.
#pragma once

#include "linalg/quadratic_program.hpp"

namespace vb {

inline Matrix sized(Matrix room, Index n) { return {room.data, n, n}; }

inline constexpr Index kMostOnFrame = 8;  // facets added, or dropped at first, on a frame that is not renewed: more show it is too old

// One solve: the program, its solution so far, and the frame of directions.
//
// Rows of `frame` are orthonormal in the norm of B. The first `count` of them span the normals of the active facets,
// whose coefficients are the columns of `upper`; the others span the face.
struct Run {
    const QuadraticProgram& program;
    QpSolution& at;
    QpWork& work;
    Index n;
    Matrix frame, upper;
    Index count = 0;      // active facets
    Index num_guess = 0;  // facets worth a look before all are scanned
    double size = 0.0;    // of the unconstrained maximum
    double tolerance = 0.0;
    double curvature = 0.0;  // of the step along the new normal
    double length = 0.0;     // square length of the new normal
    bool again = false;      // from an old frame: rows of active facets are orthogonal to the face's, not to each other
    bool flat = false;       // a direction without curvature was met

    Run(const QuadraticProgram& program_, QpSolution& at_, QpWork& work_)
        : program(program_), at(at_), work(work_), n(program_.facets.free), frame(sized(work_.frame, n)),
          upper(sized(work_.upper, n)) {}

    bool trusts_frame() const { return program.B.empty(); }  // it is not renewed

    double value(Index facet) const { return program.facets.value(facet, program.slack, at.d); }
};

// Size and tolerance, from the d to begin with.
void measure(Run& run);

// Forgets the k-th active facet and makes the factor triangular again.
void drop(Run& run, Index k);

// Puts d exactly on the active facets: what rounding left there is removed in one step.
void settle(Run& run);

// From the maximum on a face, with multipliers that are not negative, to that of the program: adds violated facets one by one.
QpStatus add_all_violated(Run& run);

// The whole solve from the frame that the last program left; false where that was of no use.
bool solve_again(Run& run);

}  // namespace vb
