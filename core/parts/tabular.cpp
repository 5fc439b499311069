// One pair of reward-biased rows, in closed form.
#include "tabular/biased_pair.hpp"

#include "parts.h"

using namespace vb;

extern "C" {

vb_status vb_part_biased_pair(int64_t count, const double* counts, const double* gain, double weight, double* p) {
    if (count < 1 || counts == nullptr || gain == nullptr || p == nullptr) return VB_BAD_ARGUMENT;
    biased_distribution({count, counts, gain, weight}, p);
    return VB_OK;
}

vb_status vb_part_pair_score(int64_t count, const double* counts, const double* gain, double weight, const double* p,
                             double* score) {
    if (count < 1 || counts == nullptr || gain == nullptr || p == nullptr || score == nullptr) return VB_BAD_ARGUMENT;
    double visits = 0.0;
    for (Index i = 0; i < count; ++i) visits += counts[i];
    *score = distribution_score({count, counts, gain, weight}, visits, p);
    return VB_OK;
}

}  // extern "C"
