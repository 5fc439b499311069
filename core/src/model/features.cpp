#include "model/features.hpp"

namespace vb {

void probabilities(const Features& features, const double* theta, double* p) {
    if (features.by_coordinate != nullptr) {
        add_columns(features.by_coordinate, features.count, theta, features.dimension, nullptr, p);
        return;
    }
    for (Index i = 0; i < features.count; ++i) p[i] = features.along(i, theta);
}

}  // namespace vb
