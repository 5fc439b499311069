// The maximiser of likelihood plus value bias: local climbs, and a search over all basins.
//
// f has many local maxima, because V* is not concave, so a search keeps a pool of them and feeds it with starts
// (starts.hpp). `search` tries all of them. `follow` is for problems that change a little from call to call, as an
// agent's do: it climbs again from the whole pool, from one more start and from one more policy, in rotation.
#pragma once

#include "climbing/starts.hpp"
#include "climbing/surrogate.hpp"
#include "model/build_model.hpp"

namespace vb {

// What maximisers of one model may share: what climbs, where searches start from, and where p and factors are shared by
// places, the room for them. Nothing of one call is left in it for another.
struct Workshop {
    Arena arena;
    Arena starts_arena;
    Climber tools;
    Surrogate surrogate;
    Starts starts;
    Room room;
    Vector likely;    // (free,) the maximiser of the part without value
    Vector shifted;   // (d,) scratch where a theta is placed
};

struct Maximiser {
    Maximiser(const KnownModel& known, Index places, Method method);

    // One that works in the workshop of another, which must outlive it, and stands where that one does.
    explicit Maximiser(Maximiser& host);
    ~Maximiser();
    Maximiser(const Maximiser&) = delete;
    Maximiser& operator=(const Maximiser&) = delete;

    bool failed() const { return arena.failed() || shop.arena.failed() || shop.starts_arena.failed(); }
    Problem problem(const Objective& objective) const { return {known.model, known.set, objective}; }

    const KnownModel& known;
    Arena arena;
    Workshop own;     // empty for a guest
    Workshop& shop;
    Pool pool;
    Index turn = 0;   // how often it has followed
};

// Goes up to local maxima from where it stands.
void climb(Maximiser& maximiser, const Objective& objective);

// Climbs from everywhere.
void search(Maximiser& maximiser, const Objective& objective);

// Climbs from the pool and from one start and one policy more; from several the first time.
void follow(Maximiser& maximiser, const Objective& objective);

// Climbs from where it stands, from the most likely theta and from the interior point.
void climb_from_few(Maximiser& maximiser, const Objective& objective);

// Climbs from where another for the same model stands, whose survey counts for this one, too.
void join(Maximiser& maximiser, const Objective& objective, const Maximiser& other);

// Climbs from theta too.
void add_start(Maximiser& maximiser, const Objective& objective, const double* theta);

// Stands at theta alone, moved inside the feasible set where it is outside.
void stand_at(Maximiser& maximiser, const double* theta);

// Sets the incumbent's policy and V to the optimal ones at its theta, starting from the policy at hand.
void plan_at_incumbent(Maximiser& maximiser);

// Takes over pool, size and turn that were written from outside, after checking them; what can be computed is computed
// again, to the same bits. Where something is wrong the maximiser is as new.
Status restore(Maximiser& maximiser, Index size, Index turn);

}  // namespace vb
