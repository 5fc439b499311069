// Transition counts n(s, a, s'): all that the likelihood needs, so that no cost grows with the steps taken.
#pragma once

#include "common/arena.hpp"
#include "model/model.hpp"

namespace vb {

struct Counts {
    Vector value;     // (transitions,) n
    Indices observed; // (transitions,) those with counts, in the order in which they were first seen
    Index num_observed = 0;
    Index total = 0;  // transitions added
    View<std::uint8_t> possible;  // (transitions,) whether some feasible theta allows it
};

Counts make_counts(Arena& arena, const Model& model);

// The transition (s, a, s'), or -1 where the model does not know it.
Index find_transition(const Model& model, Index pair, Index next_state);

// Counts transition i that many times.
void add_count(Counts& counts, Index i, Index times);

}  // namespace vb
