// Planning for one known model, as C sees it.
#include "planning/known_model.hpp"

#include "api/handle.hpp"

using namespace vb;

namespace {

constexpr Index kLargest = Index{1} << 31;  // pairs and successors are kept in 32 bits

bool sizes_fit(const vb_known_model& d) {
    if (d.num_states < 1 || d.num_actions < 1 || d.num_states >= kLargest || d.num_actions >= kLargest) return false;
    if (d.num_states * d.num_actions >= kLargest || !(d.discount >= 0.0 && d.discount < 1.0)) return false;
    return d.reward != nullptr && (d.P == nullptr) != (d.pair_begin == nullptr);
}

bool pattern_fits(const vb_known_model& d) {
    const Index pairs = d.num_states * d.num_actions;
    if (d.num_transitions < 0 || d.num_transitions >= kLargest) return false;
    if (d.num_transitions > 0 && (d.successor == nullptr || d.p == nullptr)) return false;
    if (d.pair_begin[0] != 0 || d.pair_begin[pairs] != d.num_transitions) return false;
    for (Index pair = 0; pair < pairs; ++pair) {
        if (d.pair_begin[pair] > d.pair_begin[pair + 1]) return false;
    }
    std::int32_t least = 0, most = 0;
    for (Index i = 0; i < d.num_transitions; ++i) {
        least = d.successor[i] < least ? d.successor[i] : least;
        most = d.successor[i] > most ? d.successor[i] : most;
    }
    return least >= 0 && most < d.num_states;
}

Model make_model(const vb_known_model& d) {
    Model model;
    model.num_states = d.num_states;
    model.num_actions = d.num_actions;
    model.num_pairs = d.num_states * d.num_actions;
    model.num_transitions = d.P == nullptr ? d.num_transitions : model.num_pairs * d.num_states;
    model.discount = d.discount;
    model.successor = d.successor;
    model.reward = d.reward;
    return model;
}

}  // namespace

extern "C" {

vb_status vb_plan_known(const vb_known_model* data, double tolerance, vb_known_plan* plan) {
    if (data == nullptr || plan == nullptr) return VB_BAD_ARGUMENT;
    plan->broken_pair = -1;
    plan->error_bound = kInfinity;
    if (plan->V == nullptr || plan->Q == nullptr || plan->policy == nullptr) return VB_BAD_ARGUMENT;
    if (!(tolerance > 0.0) || !sizes_fit(*data)) return VB_BAD_ARGUMENT;
    Model model = make_model(*data);
    if (!rewards_fit(model)) return VB_BAD_ARGUMENT;
    Arena arena;
    if (data->P == nullptr) {
        if (!pattern_fits(*data)) return VB_BAD_ARGUMENT;
        Indices begin = arena.take<Index>(model.num_pairs + 1);
        if (arena.failed()) return VB_OUT_OF_MEMORY;
        for (Index pair = 0; pair <= model.num_pairs; ++pair) begin[pair] = data->pair_begin[pair];
        model.pair_begin = begin.data;
    }
    KnownPlan found{plan->V, plan->Q, plan->policy};
    const Status status = plan_known(model, data->P == nullptr ? data->p : data->P, tolerance, found);
    plan->error_bound = found.error;
    plan->broken_pair = found.broken_pair;
    return code(status);
}

}  // extern "C"
