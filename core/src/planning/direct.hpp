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
    bool in_force = false;      // sweeps were slow in this plan or evaluation
    Ordered ordered = Ordered::never;
    SparseFactors factors;      // empty: they would take too much
    double sweeps = kInfinity;  // what factors and their solves cost, in sweeps
    View<std::int32_t> pair;    // (S,) of the policy that they were laid out for
    bool made = false;          // the factors are those of that policy, with the weights below
    Vector weight;              // gamma p of that chain
    Vector residual;            // (S,) scratch
};

Direct make_direct(Arena& arena, const Model& model, bool full);

// What factors of the chain cost, in sweeps; infinite where they would take too much, or there is no room.
double cost_of_direct(Direct& direct, const Model& model, const Chain& chain);

// Factors of the chain, where that is finite, unless they are those at hand.
void factor_chain(Direct& direct, const Chain& chain);

// Corrects V by its residual in V = gain + gamma P_pi V, unless the spread of that is no more than `enough`: then false.
bool correct_values(const Direct& direct, const Chain& chain, const double* gain, double* V, double enough);

// The same for w = start + gamma P_pi' w, whose residual is `rest`, which is lost.
void correct_visits(const Direct& direct, double* rest, double* w);

}  // namespace vb
