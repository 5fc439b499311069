#include "planning/method.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

// What factors cost, in multiples of what one sweep costs for one transition.
double cost_of_factors(const Model& model) {
    const double n = static_cast<double>(model.num_states);
    return n * n * n * (1.0 - model.discount);
}

}  // namespace

bool factors_fit(const Model& model) { return model.num_states <= tuning.factors_most_states; }

Method method_for_many_plans(const Model& model) {
    const double visited = static_cast<double>(model.num_transitions) / static_cast<double>(model.num_actions);
    const bool cheap = cost_of_factors(model) <= tuning.factors_per_transition * visited;
    return factors_if(factors_fit(model) && (cheap || !model.features.is_dense()));
}

Method method_for_one_plan(const Model& model) { return factors_if(model.num_states <= tuning.factors_plan_states); }

Method method_for_one_value(const Model& model) { return factors_if(factors_fit(model)); }

Method method_for_known_plan(const Model& model) { return factors_if(model.num_states <= tuning.factors_known_states); }

bool direct_at_once(const Model& model) {
    if (model.discount < tuning.direct_discount || model.num_states < tuning.direct_states) return false;
    const Index period = larger(Index{1}, model.num_states / tuning.direct_sample);
    for (Index s = 0; s < model.num_states; s += period) {
        for (Index i = model.pair_begin[model.pair(s, 0)]; i < model.pair_begin[model.pair(s + 1, 0)]; ++i) {
            const Index ahead = model.successor[i] - s;
            if (ahead > tuning.direct_near || -ahead > tuning.direct_near) return false;
        }
    }
    return true;
}

namespace {

// Transitions of a policy, on average.
double followed(const Model& model) {
    return static_cast<double>(model.num_transitions) / static_cast<double>(model.num_actions);
}

}  // namespace

double sweeps_for_factors(const Model& model, double products, double entries) {
    return (tuning.direct_entry * entries + tuning.direct_product * products) / followed(model);
}

bool direct_pays(double cost, double so_far, double ahead) {
    return so_far >= tuning.direct_tried * cost && ahead >= tuning.direct_policies * cost;
}

double most_products(const Model& model) {
    return followed(model) * smaller(tuning.direct_per_sweep / (1.0 - model.discount), tuning.direct_per_transition);
}

Method method_for_l1_plans(const Model& model) {
    const double transitions = static_cast<double>(model.num_transitions);
    return factors_if(factors_fit(model) && cost_of_factors(model) <= tuning.factors_per_l1_transition * transitions);
}

}  // namespace vb
