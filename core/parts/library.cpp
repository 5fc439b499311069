// What the library of parts says about itself.
#include "interface.hpp"
#include "parts.h"

uint64_t vb_part_interface() { return VB_PART_INTERFACE; }
