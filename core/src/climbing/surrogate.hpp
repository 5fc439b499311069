// Steps for models whose plans cost most: the part without value as it is, the value by its slope.
//
//     maximise  sum n log p - ridge/2 |theta|^2 + <linear + bias grad V, theta>     over P
//
// is concave and looks at observed transitions alone, so that it is climbed to the top without a plan; f is evaluated, and
// V differentiated, once for all of it. Two such steps in a row show how V bends along them, and the second is made longer
// or shorter by that (Anderson's mixing of two).
#pragma once

#include "climbing/ascent.hpp"

namespace vb {

struct Surrogate {
    Model model;      // its transitions are those observed
    Matrix rows;      // (most observed, d) their features
    Vector counts;    // (most observed,)
    Indices observed; // (most observed,) 0, 1, ...
    Vector linear;    // (d,)
    Vector y, theta, p;
    Indices active, num_active;
    Climber tools;    // of the climb to its maximum
    Vector mixed;     // (free,)
    Vector last_top, last_step;  // (free,) the maximum of this climb's last surrogate, and the step to it
    bool has_last = false;
};

// Whether a model has what it takes: one block of dense features, of more than a few coordinates.
bool can_linearise(const Model& model, const FeasibleSet& set);

Surrogate make_surrogate(Arena& arena, const Model& model, const FeasibleSet& set);

// Whether steps of this climb are found by the surrogate.
bool is_linearised(const Ascent& run);

// The step to the surrogate's maximum, with its facets and multipliers.
void find_linearised_step(Ascent& run);

}  // namespace vb
