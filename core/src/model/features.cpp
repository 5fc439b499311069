#include "model/features.hpp"

namespace vb {

void probabilities(const Features& features, const double* theta, double* p) {
    for (Index i = 0; i < features.count; ++i) p[i] = features.along(i, theta);
}

}  // namespace vb
