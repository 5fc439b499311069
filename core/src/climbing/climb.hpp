// Ascent of the value-biased objective over P, by sequential quadratic programming.
//
// Each iteration takes the exact gradient and the exact curvature as far as it is concave; a quadratic program over P
// gives the step (newton_step.hpp; product_step.hpp where P is a product), and a line search makes f rise. Steps stop short
// of probability 0 for observed transitions, so f stays finite. Near the top the factors of the last program serve for
// a few steps more (polish.hpp).
#pragma once

#include "climbing/ascent.hpp"

namespace vb {

// Climbs from the point to a KKT point, unless it is given up on its way to a rival. Where `at.evaluated` is set, what the last
// climb left there is used.
Outcome climb(const Problem& problem, Point& at, Climber& tools, const Rivals& rivals = {});

}  // namespace vb
