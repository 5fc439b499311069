// Linear programs over {y : normals y + offsets >= 0}: which facets are needed, how wide the set is, its ends.
//
// A linear program is a short sequence of proximal quadratic programs, max <c, y> - eps/2 |y - last|^2, which for
// polyhedra ends exactly at an optimal face after finitely many steps.
#pragma once

#include "linalg/quadratic_program.hpp"

namespace vb {

struct LinearProgramWork {
    Matrix B;                // (free, free) eps times the identity
    Vector d, slack;         // (free,), (facets,)
    Indices active;          // (free,)
    Vector multiplier;       // (free + 1,)
    Vector direction, y;     // (free,) for the functions below
    QpWork quadratic;
    Frame frame;
};

LinearProgramWork make_linear_program_work(Arena& arena, Index free, Index facets);

struct LinearMaximum {
    double value = 0.0;  // <c, y>
    bool exact = false;  // whether the steps came to an end
};

// y, from where it is, becomes a maximiser of <c, y>, or the first point that was met where <c, y> >= enough.
LinearMaximum maximise(const Facets& facets, const double* c, double* y, LinearProgramWork& work,
                       double enough = kInfinity);

// A copy of facets that may be relaxed or taken out.
struct EditableFacets {
    Vector normals;  // (count, free)
    Vector by_axis;  // (free, count)
    Vector offsets;  // (count,)
};

EditableFacets make_editable_facets(Arena& arena, const Facets& facets);

// needed[i] = 0 for facets that the others, as far as they are needed, keep slack; y = 0 must be strictly inside.
void needed_facets(const Facets& facets, EditableFacets& copy, LinearProgramWork& work, std::uint8_t* needed);

// Extent of the set along every axis; infinity where it could not be found.
void widths(const Facets& facets, LinearProgramWork& work, double* out);

}  // namespace vb
