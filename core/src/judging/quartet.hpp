// Four draws side by side: rows of pairs are read once for all of them, and each number below is one of kLanes.
//
// Some pairs are listed, those that may be best in one of the draws, or those of one policy. Sweeps look at these alone:
//
//     V(s) = max over listed a  gain(s,a) + gamma sum_s' p(s'|s,a) V(s')        in place, and lifted (planning/chain.hpp)
//
// Their probabilities are kept where features are long, and found from features again and again where these are short.
#pragma once

#include "common/arena.hpp"
#include "common/lanes.hpp"
#include "model/model.hpp"

namespace vb {

struct Quartet {
    const Model* model = nullptr;
    Index draw[kLanes] = {};  // which ones; a number may occur more than once
    Vector theta;             // (d, kLanes)
    Vector V;                 // (S, kLanes)
    Vector other;             // (S, kLanes)
    Vector Q;                 // (pairs, kLanes) of all pairs; once some are listed, gain(s,a) of these, in their order
    View<std::int32_t> begin;   // (S + 1,) the listed pairs of a state
    View<std::int32_t> pair;    // (pairs,) listed
    View<std::int32_t> offset;  // (pairs,) where the probabilities of a listed pair are kept
    Vector kept;                // (room, kLanes) gamma p of listed pairs, or empty
    bool keeps = false;         // whether those at hand are kept
    bool descending = false;    // the order of the next sweep
};

// How far a sweep has changed each draw's values: the least and the most.
struct LaneRange {
    Lanes low, high;
};

Quartet make_quartet(Arena& arena, const Model& model);

// p(s'|s,a) of one transition
inline Lanes probability_in_four(const Features& features, Index i, const double* theta) {
    Lanes p = {};
    if (features.is_dense()) {
        const double* phi = features.dense + i * features.dimension;
        for (Index k = 0; k < features.dimension; ++k) p = fused(phi[k], load(theta + k * kLanes), p);
        return p;
    }
    for (Index k = features.begin[i]; k < features.begin[i + 1]; ++k) {
        p = fused(features.weight[k], load(theta + features.coordinate[k] * kLanes), p);
    }
    return p;
}

// R(s,a) + gamma sum_s' p(s'|s,a) V(s'), from features
Lanes action_value(const Quartet& four, Index pair, const double* V);

// Q of all pairs for V; `other` becomes max_a Q, and the range is that of other - V.
LaneRange sweep_all_pairs(Quartet& four);

// Lists the pairs whose Q is at most `width` below the best in some draw.
void list_candidates(Quartet& four, const Lanes& width);

// Lists the pairs of one policy, for losses: gain is V - Q, what is lost by one action that another policy would not take.
// Those that were listed before, and are in `before`, stay; null where none was.
void list_policy(Quartet& four, const Index* policy, const Index* before);

// Sweeps X, (S, kLanes), over what is listed; what the residual may still spread over, in each draw.
Lanes sweep_listed(Quartet& four, double* X);

}  // namespace vb
