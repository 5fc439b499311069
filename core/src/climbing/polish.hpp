// The last steps of a climb, which use the factors of one program again.
//
// Near the top a new quadratic program changes little but costs most where there are many free coordinates. Its factors
// give a step on the face where it ended, and the multipliers there, for one gradient each.
#pragma once

#include "climbing/known.hpp"

namespace vb {

// Whether that pays at the point: one block of many coordinates, and near the top.
bool worth_polishing(const Problem& problem, const Workspace& work);

// Which program left the factors.
enum class Factors { of_last_climb, of_this_one };

struct Polished {
    double f;
    bool known;  // it ended before a step that leads to what is known
};

// Steps with the factors of the last program, each for one gradient. Each has to make the residual so much smaller; the
// first one, too, unless the factors are those that the last climb left. Ends at the target, or where a step would leave the
// face or no longer pays, or leads to what is known. Everything belongs to the point then, residual and gap included.
Polished polish(const Problem& problem, double f, Factors factors, const Known& known, Point& at, Workspace& work);

}  // namespace vb
