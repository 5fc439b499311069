// Chains whose I - gamma P_pi has sparse factors with few entries: queues, machines that age, grids. There V and visits
// are solved for where sweeps would take long; what is promised still comes from a residual.
//
// What elimination fills is found once for the transitions of all pairs together, which no policy and no theta changes;
// where that is too much, for those of each policy. Whether factors are used never depends on what was planned before.
#pragma once

#include "linalg/sparse_lu.hpp"
#include "planning/chain.hpp"

namespace vb {

enum class Ordered { never, all_pairs, each_policy };

struct Direct {
    Arena* arena = nullptr;     // for what follows, when it is first needed; null: factors are never used
    bool at_once = false;       // factors are cheaper than sweeps from the first one on
    bool in_force = false;      // sweeps were slow in this plan, or whatever it is
    Ordered ordered = Ordered::never;
    SparseFactors factors;      // empty: they would take too much
    View<std::int32_t> pair;    // (S,) of the policy that the factors, or their absence, belong to
    Vector weight;              // gamma p of that chain
    Vector residual;            // (S,) scratch
};

Direct make_direct(Arena& arena, const Model& model, bool full);

// Factors for the chain, unless they are those at hand; false where they would take too much, or there is no room.
bool find_direct(Direct& direct, const Model& model, const Chain& chain);

// Corrects V by its residual in V = gain + gamma P_pi V, unless the spread of that is no more than `enough`: then false.
bool correct_values(const Direct& direct, const Chain& chain, const double* gain, double* V, double enough);

// The same for w = start + gamma P_pi' w, whose residual is `rest`, which is lost.
void correct_visits(const Direct& direct, double* rest, double* w);

}  // namespace vb
