// The last steps of a climb, which use the factors of one program again.
//
// Near the top a new quadratic program changes little but costs most where there are many free coordinates. Its factors
// give a step on the face where it ended, and the multipliers there, for one gradient each.
#pragma once

#include "climbing/ascent.hpp"

namespace vb {

// Whether that pays at the point: one block of many coordinates, and near the top.
bool worth_polishing(const Ascent& run);

// Which program left the factors.
enum class Factors { of_last_climb, of_this_one };

// How polishing ended: at the top or where it no longer pays, or before a step that leads to a rival.
enum class Polished { done, leads_to_rival };

// Steps with the factors of the last program, each for one gradient. Each has to make the residual so much smaller; the
// first one, too, unless the factors are those that the last climb left. Ends at the target, or where a step would leave the
// face or no longer pays, or leads to a rival. Everything belongs to the point then, the verdict included.
Polished polish(Ascent& run, Factors factors);

}  // namespace vb
