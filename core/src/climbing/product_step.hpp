// The step where P is a product of blocks with sparse features: a program for each, then one correction for all.
#pragma once

#include "climbing/workspace.hpp"

namespace vb {

// work.step, with active facets and multipliers of every block's program. The value's curvature, which couples the
// blocks, corrects it along the face to a relative `accuracy`, where there are factors (face_correction.hpp).
void find_product_step(const Problem& problem, Point& at, double accuracy, Workspace& work);

}  // namespace vb
