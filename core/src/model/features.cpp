#include "model/features.hpp"

#include "common/tuning.hpp"
#include "linalg/product.hpp"

namespace vb {

void add_some(const Features& features, Index first, Index last, const double* scale, double* out) {
    if (features.is_dense()) {
        const Index d = features.dimension;
        add_rows({features.dense + first * d, last - first, d}, scale, out);
        return;
    }
    for (Index i = first; i < last; ++i) features.add(i, scale[i - first], out);
}

void probabilities(const Features& features, const double* theta, double* p) {
    const Index d = features.dimension;
    if (features.by_coordinate != nullptr && d <= tuning.turned_coordinates) {
        add_columns(features.by_coordinate, features.count, theta, d, nullptr, p);
    } else if (features.is_dense()) {
        multiply_rows({features.dense, features.count, d}, theta, p);
    } else {
        for (Index i = 0; i < features.count; ++i) p[i] = features.along(i, theta);
    }
}

double probability(const Features& features, Index i, const double* theta) {
    const Index d = features.dimension;
    if (!features.is_dense()) return features.along(i, theta);
    const double* phi = features.dense + i * d;
    double p = 0.0;
    if (features.by_coordinate != nullptr && d <= tuning.turned_coordinates) {
        for (Index k = 0; k < d; ++k) p = fused(theta[k], phi[k], p);
    } else {
        multiply_rows({phi, 1, d}, theta, &p);
    }
    return p;
}

}  // namespace vb
