// The step where P is one block of dense features: a quadratic program with the exact curvature.
//
// The curvature of the value is used as far as the sum stays concave: first as it is, then made convex across the face
// where one stands, which changes nothing along it, and in the end without.
#pragma once

#include "climbing/ascent.hpp"

namespace vb {

// The step, with active facets and multipliers of the program; false, and no step, where no program could be solved.
bool find_newton_step(Ascent& run);

}  // namespace vb
