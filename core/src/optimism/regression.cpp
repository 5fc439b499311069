#include "optimism/regression.hpp"

namespace vb {

namespace {

// regression.feature = phi_V(s, a) in the coordinates of the block.
void find_feature(Regression& regression, const Block& block, Index pair, const double* V) {
    const Model& model = *regression.model;
    double* theta = regression.theta.data;
    for (Index k = 0; k < block.num_coordinates; ++k) theta[block.coordinates[k]] = 0.0;
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        model.features.add(i, V[model.successor[i]], theta);
    }
    for (Index k = 0; k < block.num_coordinates; ++k) regression.feature[k] = theta[block.coordinates[k]];
}

// regression.column = Sigma^{-1} phi_V; returns phi_V' Sigma^{-1} phi_V.
double find_column(Regression& regression, const Block& block) {
    const Index k = block.num_coordinates;
    const ConstMatrix inverse{regression.inverse.data + block.first_square, k, k};
    double norm = 0.0;
    for (Index i = 0; i < k; ++i) {
        regression.column[i] = dot(inverse[i], regression.feature.data, k);
        norm += regression.column[i] * regression.feature[i];
    }
    return norm;
}

// phi_V' Sigma^{-1} b
double mean_at_feature(Regression& regression, const Block& block) {
    const Index k = block.num_coordinates;
    const double* inverse = regression.inverse.data + block.first_square;
    double *own = regression.column.data, total = 0.0;
    for (Index i = 0; i < k; ++i) own[i] = regression.b[block.coordinates[i]];
    for (Index i = 0; i < k; ++i) total += regression.feature[i] * dot(inverse + i * k, own, k);
    return total;
}

const Block& block_of(const Regression& regression, Index pair) {
    return regression.set->blocks[regression.set->block_of_pair[pair]];
}

}  // namespace

Regression make_regression(Arena& arena, const Model& model, const FeasibleSet& set, double ridge) {
    Regression regression;
    regression.model = &model;
    regression.set = &set;
    regression.sigma = arena.take<double>(set.num_squares);
    regression.inverse = arena.take<double>(set.num_squares);
    regression.b = arena.take<double>(set.dimension);
    regression.theta = arena.take<double>(set.dimension);
    regression.feature = arena.take<double>(set.most_coordinates);
    regression.column = arena.take<double>(set.most_coordinates);
    if (arena.failed()) return regression;
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        for (Index i = 0; i < block.num_coordinates; ++i) {
            const Index diagonal = block.first_square + i * (block.num_coordinates + 1);
            regression.sigma[diagonal] = ridge;
            regression.inverse[diagonal] = 1.0 / ridge;
        }
    }
    return regression;
}

Prediction predict(Regression& regression, Index pair, const double* V) {
    const Block& block = block_of(regression, pair);
    find_feature(regression, block, pair, V);
    const double square = find_column(regression, block);
    return {mean_at_feature(regression, block), vb::sqrt(larger(square, 0.0))};
}

// Sherman-Morrison: (Sigma + w x x')^{-1} = Sigma^{-1} - w / (1 + w |x|^2) (Sigma^{-1} x)(Sigma^{-1} x)'.
void add_sample(Regression& regression, const Sample& sample, const double* V) {
    const Block& block = block_of(regression, sample.pair);
    const Index k = block.num_coordinates;
    find_feature(regression, block, sample.pair, V);
    const double norm = find_column(regression, block), weight = sample.weight;
    const double shrink = weight / (1.0 + weight * norm);
    const double *x = regression.feature.data, *column = regression.column.data;
    for (Index i = 0; i < k; ++i) {
        regression.b[block.coordinates[i]] += weight * x[i] * sample.target;
        add_scaled(weight * x[i], x, k, regression.sigma.data + block.first_square + i * k);
        add_scaled(-shrink * column[i], column, k, regression.inverse.data + block.first_square + i * k);
    }
    regression.log_det += vb::log1p(weight * norm);
}

void estimate(const Regression& regression, double* theta) {
    for (Index block_number = 0; block_number < regression.set->num_blocks; ++block_number) {
        const Block& block = regression.set->blocks[block_number];
        const Index k = block.num_coordinates;
        const double* inverse = regression.inverse.data + block.first_square;
        for (Index i = 0; i < k; ++i) {
            double total = 0.0;
            for (Index j = 0; j < k; ++j) total += inverse[i * k + j] * regression.b[block.coordinates[j]];
            theta[block.coordinates[i]] = total;
        }
    }
}

}  // namespace vb
