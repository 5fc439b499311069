// The reward-biased distribution of one pair (s, a) in closed form.
//
//     maximise  sum_y n(y) log p(y) + c sum_y p(y) g(y)      over distributions p of the pair's transitions y
//
// has the solution p(y) = n(y) / (nu - c g(y)), with nu such that the sum is 1. Where that would need nu < c g(y0) for an
// unseen y0, nu = c max g over the unseen, and what is left of the mass goes to the best of them. Without counts all
// the mass goes to the best transition.
#pragma once

#include "common/view.hpp"

namespace vb {

// What is known of a pair: its transitions' counts n and gains g, and the weight c of the gains.
struct BiasedPair {
    Index size = 0;                  // transitions
    const double* counts = nullptr;  // (size,)
    const double* gain = nullptr;    // (size,)
    double weight = 0.0;
};

// out (size,) = the maximiser; of equally good transitions without counts the first
void biased_distribution(const BiasedPair& pair, double* out);

// sum n log(p / (n / visits)) + c <p, g>: what the distribution p is worth to the objective, 0 for c = 0 at the frequencies
double distribution_score(const BiasedPair& pair, double visits, const double* p);

}  // namespace vb
