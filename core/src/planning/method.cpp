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

Method method_for_l1_plans(const Model& model) {
    const double transitions = static_cast<double>(model.num_transitions);
    return factors_if(factors_fit(model) && cost_of_factors(model) <= tuning.factors_per_l1_transition * transitions);
}

}  // namespace vb
