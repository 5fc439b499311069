// Whether what the interface was given can be a model: every size, every index, and the numbers that must be finite.
#pragma once

#include "vbmle.h"

namespace vb {

bool can_be_a_model(const vb_model_data& data);

}  // namespace vb
