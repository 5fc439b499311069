// Local maxima kept side by side, the incumbent first.
//
// The incumbent gives way only to a maximum that is better by more than rounding, so exact ties keep the one found first.
// The last place is for scratch.
#pragma once

#include "climbing/ascent.hpp"

namespace vb {

// Where p and factors of all places would take too much memory, they belong to one place at a time, of whichever pool of those
// that share a room.
struct Resident {
    std::uint8_t* evaluated;  // of its pool, or null
    Index place;
};
struct Room {
    bool own_evaluations = true;  // whether every place has p and factors of its own, and the room is empty
    Index squares = 0;            // numbers in the factors of a policy
    Matrix p;                     // (1, transitions)
    Vector lu;                    // (S, S)
    View<Resident> resident;      // (1,)
};

Room make_room(Arena& arena, const Model& model, Index places, Method method);

struct Pool {
    Index places = 0;  // maxima that it can hold; place `places` is for scratch
    Index size = 1;    // maxima that it holds
    Index climbs = 0;  // how often one has climbed, from wherever
    Matrix y, theta, V;          // (places + 1, free), (.., d), (.., S)
    Grid<Index> policy;          // (places + 1, S)
    Grid<Index> active;          // (places + 1, free)
    Grid<Index> num_active;      // (places + 1, blocks)
    Matrix result;               // (places + 1, 3): objective, residual, gap
    View<std::int32_t> status;   // (places + 1,) how the last climb ended
    View<std::int32_t> iterations;  // (places + 1,) of the last climb
    View<std::uint8_t> evaluated;  // (places + 1,) whether p, policy, V and lu belong to theta
    View<std::uint8_t> abandoned;  // (places + 1,) whether the last climb was given up
    Matrix p;                    // (places + 1 or 1, transitions)
    Vector lu;                   // as many (S, S)
    Matrix factors;              // (places + 1, 2 free^2) frame and upper of the last program, or empty
    View<std::uint8_t> factored;   // (places + 1,) whether they belong to the active facets
    bool own_evaluations = true; // whether every place has p and lu of its own
    Resident* resident = nullptr;  // otherwise the place that they belong to
};

Pool make_pool(Arena& arena, const Problem& problem, Index places, const Room& room);

// Leaves the room to others.
void move_out(Pool& pool);

// The point at a place; `spare` is the frame of points that keep none.
Point point_at(Pool& pool, Frame spare, Index k);

// A problem, the maxima found so far, and what climbs.
struct Search {
    const Problem& problem;
    Pool& pool;
    Climber& tools;
};

// Climbs from a place and writes down the result.
void climb_at(const Search& search, Index k);

// Climbs from every place that holds a maximum, the best first in the end; maxima that meet become one.
void climb_all(const Search& search);

// Climbs from y, with the incumbent's policy, and takes the maximum in unless it is known.
void try_start(const Search& search, const double* y);

// Plays another action in one state, climbs from the incumbent for that policy, then freely.
//
// The maximum over theta of the maximum over policies can be taken in either order, so a better maximum that goes with a
// neighbouring policy is found this way even where the value is flat in between.
struct Switch {
    Index state;
    Index action;
};
void try_switch(const Search& search, Switch other);

}  // namespace vb
