// Features phi(s'|s,a): one row per possible transition, dense or sparse.
#pragma once

#include "common/numbers.hpp"

namespace vb {

struct Features {
    Index count = 0;      // transitions
    Index dimension = 0;  // d
    const double* dense = nullptr;       // (count, d), or null: then the sparse rows below hold
    const double* by_coordinate = nullptr;  // (d, count), the same by columns, or null where it is not kept
    const double* projected = nullptr;   // (count, free) = dense @ basis, or null where it is not kept
    Index free = 0;                      // columns of `projected`
    const Index* begin = nullptr;        // (count + 1,) sparse rows
    const Index* coordinate = nullptr;   // which entry of theta
    const double* weight = nullptr;

    bool is_dense() const { return dense != nullptr; }

    // <phi_i, v>
    double along(Index i, const double* v) const {
        if (is_dense()) return dot(dense + i * dimension, v, dimension);
        double total = 0.0;
        for (Index k = begin[i]; k < begin[i + 1]; ++k) total = fused(weight[k], v[coordinate[k]], total);
        return total;
    }

    // out += scale * phi_i
    void add(Index i, double scale, double* out) const {
        if (is_dense()) {
            add_scaled(scale, dense + i * dimension, dimension, out);
            return;
        }
        for (Index k = begin[i]; k < begin[i + 1]; ++k) out[coordinate[k]] = fused(scale, weight[k], out[coordinate[k]]);
    }
};

// out += sum of scale[i - first] * phi_i over first <= i < last
void add_some(const Features& features, Index first, Index last, const double* scale, double* out);

// p_i = <phi_i, theta> for every possible transition
void probabilities(const Features& features, const double* theta, double* p);

// The same for one transition, to the same bits.
double probability(const Features& features, Index i, const double* theta);

}  // namespace vb
