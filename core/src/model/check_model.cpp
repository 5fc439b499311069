#include "model/check_model.hpp"

#include "common/checks.hpp"
#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

bool pointers_rise(const Index* begin, Index n, Index first, Index last) {
    if (begin == nullptr || begin[0] != first || begin[n] != last) return false;
    for (Index i = 0; i < n; ++i) {
        if (begin[i] > begin[i + 1]) return false;
    }
    return true;
}

bool sizes_fit(const vb_model_data& d) {
    const bool counts = d.num_states >= 1 && d.num_actions >= 1 && d.dimension >= 1 && d.num_transitions >= 0;
    constexpr Index limit = tuning.limit_indices;
    if (!counts || d.num_states >= limit || d.num_actions >= limit || d.num_transitions >= limit) return false;
    if (d.dimension >= limit || !(d.discount >= 0.0 && d.discount < 1.0)) return false;
    return d.num_blocks >= 1 && d.num_blocks <= d.dimension;
}

// Within a pair successors rise: counts look for them there.
bool pattern_fits(const vb_model_data& d) {
    const Index pairs = d.num_states * d.num_actions;
    if (!pointers_rise(d.pair_begin, pairs, 0, d.num_transitions)) return false;
    if (!all_within(d.successor, d.num_transitions, d.num_states)) return false;
    for (Index pair = 0; pair < pairs; ++pair) {
        for (Index i = d.pair_begin[pair] + 1; i < d.pair_begin[pair + 1]; ++i) {
            if (d.successor[i] <= d.successor[i - 1]) return false;
        }
    }
    return true;
}

// Every state has an action that is allowed.
bool rewards_fit(const vb_model_data& d) {
    if (d.reward == nullptr || (d.reward_next != nullptr && !all_finite(d.reward_next, d.num_transitions))) return false;
    for (Index s = 0; s < d.num_states; ++s) {
        bool allowed = false;
        for (Index pair = s * d.num_actions; pair < (s + 1) * d.num_actions; ++pair) {
            if (d.reward[pair] == -kInfinity) continue;
            if (!isfinite(d.reward[pair])) return false;
            allowed = true;
        }
        if (!allowed) return false;
    }
    return true;
}

bool features_fit(const vb_model_data& d) {
    if ((d.phi == nullptr) == (d.feature_begin == nullptr)) return false;
    if (d.phi != nullptr) return d.num_blocks == 1;
    const Index entries = d.feature_begin[d.num_transitions];
    return pointers_rise(d.feature_begin, d.num_transitions, 0, entries) &&
           all_within(d.feature_coordinate, entries, d.dimension) && (d.feature_weight != nullptr || entries == 0);
}

bool blocks_fit(const vb_model_data& d) {
    if (d.free_begin == nullptr || d.facet_begin == nullptr || d.diameter == nullptr) return false;
    const Index free = d.free_begin[d.num_blocks], facets = d.facet_begin[d.num_blocks];
    if (!pointers_rise(d.coordinate_begin, d.num_blocks, 0, d.dimension) ||
        !pointers_rise(d.free_begin, d.num_blocks, 0, free) || free > d.dimension ||
        !pointers_rise(d.facet_begin, d.num_blocks, 0, facets) || facets >= tuning.limit_indices) {
        return false;
    }
    for (Index b = 0; b < d.num_blocks; ++b) {
        const bool is_point = d.free_begin[b] == d.free_begin[b + 1];
        if (!(is_point ? d.diameter[b] >= 0.0 : d.diameter[b] > 0.0)) return false;
    }
    if (free > 0 && (d.basis == nullptr || (facets > 0 && d.normals == nullptr))) return false;
    return d.coordinates != nullptr && all_within(d.coordinates, d.dimension, d.dimension) &&
           d.center != nullptr && all_finite(d.center, d.dimension) && all_finite(d.offsets, facets);
}

}  // namespace

bool can_be_a_model(const vb_model_data& data) {
    return sizes_fit(data) && pattern_fits(data) && rewards_fit(data) && features_fit(data) && blocks_fit(data);
}

}  // namespace vb
