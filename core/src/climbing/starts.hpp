// Where a search starts from, in the coordinates y: points fixed for a model and a seed, points that depend on the
// incumbent, and policies next to the incumbent's.
#pragma once

#include "climbing/pool.hpp"

namespace vb {

struct Starts {
    Matrix fixed;      // (n, free)
    ConstVector best;  // (free,) the y that is best for the controller everywhere, or empty
    ConstIndices pairs;  // pairs (s, a) in the order in which they are tried
    Matrix between;      // (kBetween, free) room for points between the incumbent and the best
};

inline constexpr Index kBetween = 3;

// All of them: the most likely y, points between the incumbent and the best, the fixed ones; at most `most`.
void try_starts(const Search& search, const Starts& starts, const double* likely, Index most);

// One of them, in rotation.
void try_one_start(const Search& search, const Starts& starts, Index turn);

// Every pair where they are few; else those of the objective's state and the first of the others.
void try_all_switches(const Search& search, const Starts& starts);

// Every action in the objective's state, up to a limit.
void try_actions(const Search& search);

// One pair, in rotation: every second time in the objective's state.
void try_one_switch(const Search& search, const Starts& starts, Index turn);

}  // namespace vb
