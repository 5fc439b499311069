// Counts as a handle, and objectives over them.
#pragma once

#include "climbing/problem.hpp"
#include "model/build_model.hpp"

struct vb_counts {
    const vb::Model& model;
    vb::Arena arena;
    vb::Counts counts;

    explicit vb_counts(const vb::KnownModel& known) : model(known.model), counts(make_counts(arena, known.model)) {}
};

namespace vb {

// Checks an objective and takes it over; false where it does not fit the model.
bool read_objective(const vb_objective* given, const KnownModel& known, Objective& objective);

}  // namespace vb
