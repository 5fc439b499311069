#include "model/feasible_set.hpp"

#include "linalg/product.hpp"

namespace vb {

void facet_values(const Facets& facets, const double* base, const double* y, double* out) {
    if (facets.by_axis == nullptr) {
        for (Index i = 0; i < facets.count; ++i) out[i] = facets.value(i, base, y);
        return;
    }
    add_columns(facets.by_axis, facets.count, y, facets.free, base, out);
}

void some_facet_values(const Facets& facets, View<const Index> listed, const double* base, const double* y, double* out) {
    const Index count = listed.empty() ? facets.count : listed.size;
    for (Index first = 0; first < count; first += 4) {
        const double* rows[4];
        double sums[4];
        Index facet[4];
        for (Index k = 0; k < 4; ++k) {  // beyond the end, the last one again
            const Index at = first + k < count ? first + k : count - 1;
            facet[k] = listed.empty() ? at : listed[at];
            rows[k] = facets.normal(facet[k]);
        }
        multiply_four(rows, facets.free, y, sums);
        for (Index k = 0; k < 4 && first + k < count; ++k) out[first + k] = base[facet[k]] + sums[k];
    }
}

void assemble(const FeasibleSet& set, const double* y, double* theta) {
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        const double* own = y + block.first_free;
        for (Index i = 0; i < block.num_coordinates; ++i) {
            const Index at = block.coordinates[i];
            theta[at] = set.center[at] + dot(block.basis + i * block.num_free, own, block.num_free);
        }
    }
}

void reduce_block(const Block& block, const double* g, double* out) {
    double* own = out + block.first_free;
    fill(own, block.num_free, 0.0);
    for (Index i = 0; i < block.num_coordinates; ++i) {
        add_scaled(g[block.coordinates[i]], block.basis + i * block.num_free, block.num_free, own);
    }
}

void reduce(const FeasibleSet& set, const double* g, double* out) {
    for (Index b = 0; b < set.num_blocks; ++b) reduce_block(set.blocks[b], g, out);
}

void expand_block(const Block& block, const double* y, double* out) {
    const double* own = y + block.first_free;
    for (Index i = 0; i < block.num_coordinates; ++i) {
        out[block.coordinates[i]] = dot(block.basis + i * block.num_free, own, block.num_free);
    }
}

namespace {

// How much of y may be kept so that every facet of the block holds.
double share_inside(const Block& block, const double* y) {
    double keep = 1.0;
    for (Index i = 0; i < block.facets.count; ++i) {
        const double along = dot(block.facets.normal(i), y, block.num_free);
        const double offset = block.facets.offsets[i];
        if (along * keep + offset < 0.0) keep = smaller(keep, offset / -along);
    }
    return keep;
}

}  // namespace

void move_inside(const FeasibleSet& set, double* y) {
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        double* own = y + block.first_free;
        const double keep = share_inside(block, own);
        if (keep < 1.0) {
            for (Index j = 0; j < block.num_free; ++j) own[j] *= keep;
        }
    }
}

void place(const FeasibleSet& set, const double* theta, double* y, double* shifted) {
    for (Index j = 0; j < set.dimension; ++j) shifted[j] = theta[j] - set.center[j];
    reduce(set, shifted, y);
    move_inside(set, y);
}

}  // namespace vb
