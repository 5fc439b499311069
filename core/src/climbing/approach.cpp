#include "climbing/approach.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

Pace pace_for(const FeasibleSet& set, Method method) {
    if (method == Method::factors && set.num_free >= tuning.polish_costly_coordinates) {
        return {tuning.polish_costly_near, kInfinity, tuning.polish_costly_quick, tuning.polish_costly_faces};
    }
    return {tuning.polish_near, tuning.polish_near, tuning.polish_quick, 0};
}

}  // namespace

Approach approach_for(const Model& model, const FeasibleSet& set, Method method) {
    const bool exact = method == Method::factors;
    Approach approach;
    approach.target = exact ? tuning.climb_target : tuning.climb_swept_target;
    approach.finest = exact ? 0.0 : sweep_precision(model.discount);
    approach.roughest = exact ? 0.0 : tuning.climb_rough_values / (1.0 - model.discount);
    approach.bends = exact || (model.features.is_dense() && set.num_free <= tuning.bent_coordinates);
    approach.plans_cost_most = !exact;
    approach.compares_policies = exact;
    approach.keeps_frame = exact;
    approach.polishes_on = !exact;
    approach.pace = pace_for(set, method);
    return approach;
}

}  // namespace vb
