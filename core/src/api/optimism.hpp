// What the handles of optimistic plans hold.
#pragma once

#include "model/build_model.hpp"
#include "optimism/extended_value_iteration.hpp"
#include "optimism/l1_value_iteration.hpp"

struct vb_optimist {
    vb::Arena arena;
    vb::Optimist optimist;
    vb::View<vb::ConfidenceEllipsoid> given;  // room for the sets of a plan
    vb_optimistic_plan plan = {};             // how the last one ended
};

struct vb_l1_optimist {
    vb::Arena arena;
    vb::L1Optimist optimist;
};
