// Ridge regression of V(s') on phi_V(s, a) = sum_s' phi(s'|s,a) V(s'), block by block, by rank-one updates:
//
//     Sigma = ridge I + sum w phi_V phi_V',   b = sum w phi_V V(s'),   estimate = Sigma^{-1} b.
//
// Blocks are those of the feasible set: the features of a pair act in one block alone, so that Sigma is block-diagonal.
// Matrices of all blocks lie one after another.
#pragma once

#include "common/arena.hpp"
#include "model/feasible_set.hpp"
#include "model/model.hpp"

namespace vb {

struct Regression {
    const Model* model = nullptr;
    const FeasibleSet* set = nullptr;
    Vector sigma;          // blocks of (coordinates, coordinates)
    Vector inverse;        // Sigma^{-1}, alike
    Vector b;              // (d,)
    double log_det = 0.0;  // log det Sigma - log det (ridge I)
    Vector theta;          // (d,) scratch; only the entries of one block are used at a time
    Vector feature;        // (coordinates of a block,) phi_V of the pair at hand
    Vector column;         // (coordinates of a block,) Sigma^{-1} phi_V
};

Regression make_regression(Arena& arena, const Model& model, const FeasibleSet& set, double ridge);

// What is known of V(s') after a pair.
struct Prediction {
    double mean;  // <phi_V, estimate>
    double norm;  // |phi_V| in Sigma^{-1}
};

// phi_V of the pair, with V (S,), as it is predicted now.
Prediction predict(Regression& regression, Index pair, const double* V);

// One sample: V was `target` after the pair.
struct Sample {
    Index pair;
    double target;
    double weight;
};

void add_sample(Regression& regression, const Sample& sample, const double* V);

// theta = Sigma^{-1} b, which need not be feasible
void estimate(const Regression& regression, double* theta);

}  // namespace vb
