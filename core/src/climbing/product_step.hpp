// The step where P is a product of blocks with sparse features: a program for each, then one correction for all.
#pragma once

#include "climbing/ascent.hpp"

namespace vb {

// The step, with active facets and multipliers of every block's program. The value's curvature, which couples the
// blocks, corrects it along the face, where it is used; nearer to the top more exactly (face_correction.hpp).
void find_product_step(Ascent& run);

}  // namespace vb
