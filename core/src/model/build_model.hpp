// Makes a model and its feasible set out of what the interface was given, and checks every size and index once.
#pragma once

#include "common/arena.hpp"
#include "common/status.hpp"
#include "model/feasible_set.hpp"
#include "model/model.hpp"
#include "vbmle.h"

namespace vb {

// What a model handle holds.
struct KnownModel {
    Arena arena;
    Model model;
    FeasibleSet set;
};

Status build_model(const vb_model_data& data, KnownModel& known);

}  // namespace vb

struct vb_model {
    vb::KnownModel known;
};
