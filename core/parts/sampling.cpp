// The ends of a slice.
#include "api/checks.hpp"
#include "parts.h"
#include "sampling/slice.hpp"

using namespace vb;

extern "C" {

vb_status vb_part_excess(int64_t count, const double* weight, const double* ratio, double t, double level,
                         double* value_and_slope) {
    if (count < 0 || !is_given(weight, count) || !is_given(ratio, count) || value_and_slope == nullptr) {
        return VB_BAD_ARGUMENT;
    }
    const Excess found = excess({count, weight, ratio}, t, level);
    value_and_slope[0] = found.value;
    value_and_slope[1] = found.slope;
    return VB_OK;
}

vb_status vb_part_crossing(const vb_part_slice* slice, double* distance) {
    if (slice == nullptr || distance == nullptr || slice->count < 0 || !(slice->bound > 0.0)) return VB_BAD_ARGUMENT;
    if (!is_given(slice->weight, slice->count) || !is_given(slice->ratio, slice->count)) return VB_BAD_ARGUMENT;
    const Line line = {slice->count, slice->weight, slice->ratio};
    *distance = crossing(line, slice->level, slice->sign, slice->bound);
    return VB_OK;
}

}  // extern "C"
