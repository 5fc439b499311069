// How much has been learnt: A_t = sum phi phi' + ridge I, block by block, kept as an inverse.
//
// Sherman-Morrison: (A + phi phi')^{-1} = A^{-1} - (A^{-1} phi)(A^{-1} phi)' / (1 + |phi|^2 in A^{-1}), and
// log det (A + phi phi') - log det A = log(1 + |phi|^2 in A^{-1}).
#pragma once

#include "common/arena.hpp"
#include "model/feasible_set.hpp"
#include "model/model.hpp"

namespace vb {

struct Information {
    const Model* model = nullptr;
    const FeasibleSet* set = nullptr;
    Vector inverse;        // A^{-1}, blocks of (coordinates, coordinates)
    Vector growth;         // (blocks,) of log det A since the last decision
    Vector enough;         // (blocks,) the growth that asks for a decision
    std::int64_t due = 1;  // whether some block has grown enough since the last decision
    Vector feature;        // (coordinates of a block,) scratch
    Vector image;          // (coordinates of a block,) scratch
};

Information make_information(Arena& arena, const Model& model, const FeasibleSet& set, double ridge,
                             double enough);

// Takes in one observed transition; returns |phi|^2 in A^{-1} as it was before.
double add_transition(Information& information, Index transition);

// A decision has been taken with all that is known: growth starts from 0.
void note_decision(Information& information);

}  // namespace vb
