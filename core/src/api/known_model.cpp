// Planning for one known model, as C sees it.
#include "planning/known_model.hpp"

#include "api/handle.hpp"
#include "common/tuning.hpp"

using namespace vb;

namespace {

bool sizes_fit(const vb_known_model& d) {
    constexpr Index limit = tuning.limit_indices;
    if (d.num_states < 1 || d.num_actions < 1 || d.num_states >= limit || d.num_actions >= limit) return false;
    if (d.num_states * d.num_actions >= limit || !(d.discount >= 0.0 && d.discount < 1.0)) return false;
    return d.reward != nullptr && (d.P == nullptr) != (d.pair_begin == nullptr);
}

// The pattern as planners read it: copied where it comes in whole numbers of another size.
struct Pattern {
    const Index* begin = nullptr;
    const std::int32_t* successor = nullptr;
};

template <class Given>
Status read_pattern(const vb_known_model& d, Arena& arena, Pattern& pattern) {
    const Index pairs = d.num_states * d.num_actions;
    const Given* begin = static_cast<const Given*>(d.pair_begin);
    const Given* successor = static_cast<const Given*>(d.successor);
    if (begin[0] != 0 || begin[pairs] != d.num_transitions) return Status::bad_argument;
    Indices begins = arena.take<Index>(pairs + 1);
    View<std::int32_t> successors = arena.take<std::int32_t>(sizeof(Given) == 4 ? 0 : d.num_transitions);
    if (arena.failed()) return Status::out_of_memory;
    bool rises = true;
    for (Index pair = 0; pair < pairs; ++pair) {
        begins[pair] = begin[pair];
        rises = rises && begin[pair] <= begin[pair + 1];
    }
    begins[pairs] = begin[pairs];
    if (!rises) return Status::bad_argument;
    Given least = 0, most = 0;
    for (Index i = 0; i < d.num_transitions; ++i) {
        least = successor[i] < least ? successor[i] : least;
        most = successor[i] > most ? successor[i] : most;
        if (sizeof(Given) != 4) successors[i] = static_cast<std::int32_t>(successor[i]);
    }
    if (least < 0 || most >= d.num_states) return Status::bad_argument;
    pattern.begin = begins.data;
    pattern.successor = sizeof(Given) == 4 ? static_cast<const std::int32_t*>(d.successor) : successors.data;
    return Status::ok;
}

Status find_pattern(const vb_known_model& d, Arena& arena, Pattern& pattern) {
    if (d.P != nullptr) return Status::ok;
    if (d.num_transitions < 0 || d.num_transitions >= tuning.limit_indices) return Status::bad_argument;
    if (d.num_transitions > 0 && (d.successor == nullptr || d.p == nullptr)) return Status::bad_argument;
    if (d.index_bytes == 4) return read_pattern<std::int32_t>(d, arena, pattern);
    if (d.index_bytes == 8) return read_pattern<Index>(d, arena, pattern);
    return Status::bad_argument;
}

Model make_model(const vb_known_model& d, const Pattern& pattern) {
    Model model;
    model.num_states = d.num_states;
    model.num_actions = d.num_actions;
    model.num_pairs = d.num_states * d.num_actions;
    model.num_transitions = d.P == nullptr ? d.num_transitions : model.num_pairs * d.num_states;
    model.discount = d.discount;
    model.pair_begin = pattern.begin;
    model.successor = pattern.successor;
    model.reward = d.reward;
    return model;
}

double least_of(const double* values, Index n) {
    double least = kInfinity;
    for (Index i = 0; i < n; ++i) least = smaller(least, values[i]);
    return least;
}

}  // namespace

extern "C" {

vb_status vb_plan_known(const vb_known_model* data, double tolerance, vb_known_plan* plan) {
    if (data == nullptr || plan == nullptr) return VB_BAD_ARGUMENT;
    plan->broken_pair = -1;
    plan->error_bound = plan->least_reward = kInfinity;
    if (plan->V == nullptr || plan->Q == nullptr || plan->policy == nullptr) return VB_BAD_ARGUMENT;
    if (!(tolerance > 0.0) || !sizes_fit(*data)) return VB_BAD_ARGUMENT;
    Arena arena;
    Pattern pattern;
    const Status given = find_pattern(*data, arena, pattern);
    if (given != Status::ok) return code(given);
    const Model model = make_model(*data, pattern);
    if (!rewards_fit(model)) return VB_BAD_ARGUMENT;
    plan->least_reward = least_of(model.reward, model.num_pairs);
    KnownPlan found{plan->V, plan->Q, plan->policy};
    const Status status = plan_known(model, data->P == nullptr ? data->p : data->P, tolerance, found);
    plan->error_bound = found.error;
    plan->broken_pair = found.broken_pair;
    return code(status);
}

}  // extern "C"
