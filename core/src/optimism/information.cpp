#include "optimism/information.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

// The block of a transition's features, with its phi there in information.feature.
Index find_feature(Information& information, Index transition) {
    const Features& features = information.model->features;
    const FeasibleSet& set = *information.set;
    double* out = information.feature.data;
    if (features.is_dense()) {
        const Block& block = set.blocks[0];
        const double* phi = features.dense + transition * features.dimension;
        for (Index k = 0; k < block.num_coordinates; ++k) out[k] = phi[block.coordinates[k]];
        return 0;
    }
    const Index first = features.begin[transition], last = features.begin[transition + 1];
    const Index number = first < last ? set.block_of[features.coordinate[first]] : 0;
    fill(out, set.blocks[number].num_coordinates, 0.0);
    for (Index k = first; k < last; ++k) out[set.place_of[features.coordinate[k]]] = features.weight[k];
    return number;
}

}  // namespace

// Enough holds for up to five free coordinates of a block, and grows with their number beyond: in many dimensions
// the determinant doubles with nearly every observation, though nothing is known twice as well.
Information make_information(Arena& arena, const Model& model, const FeasibleSet& set, double ridge,
                             double enough) {
    Information information;
    information.model = &model;
    information.set = &set;
    information.inverse = arena.take<double>(set.num_squares);
    information.growth = arena.take<double>(set.num_blocks);
    information.enough = arena.take<double>(set.num_blocks);
    information.feature = arena.take<double>(set.most_coordinates);
    information.image = arena.take<double>(set.most_coordinates);
    if (arena.failed()) return information;
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        information.enough[b] = enough * larger(1.0, tuning.information_per_dimension * static_cast<double>(block.num_free));
        for (Index i = 0; i < block.num_coordinates; ++i) {
            information.inverse[block.first_square + i * (block.num_coordinates + 1)] = 1.0 / ridge;
        }
    }
    return information;
}

// Whether growth exceeds log 2 is a tie wherever counts have exactly doubled, and rounding decides it: the order of
// these operations is part of what an agent does.
double add_transition(Information& information, Index transition) {
    const Index number = find_feature(information, transition);
    const Block& block = information.set->blocks[number];
    const Index k = block.num_coordinates;
    const Matrix inverse{information.inverse.data + block.first_square, k, k};
    double* image = information.image.data;
    double ratio = 1.0, square = 0.0;  // of the determinants; |phi|^2
    for (Index i = 0; i < k; ++i) {
        image[i] = dot(inverse[i], information.feature.data, k);
        ratio += image[i] * information.feature[i];
        square += image[i] * information.feature[i];
    }
    for (Index i = 0; i < k; ++i) {
        if (image[i] == 0.0) continue;
        double* row = inverse[i];
        for (Index j = 0; j < k; ++j) row[j] -= image[i] * image[j] / ratio;
    }
    information.growth[number] += vb::log(ratio);
    if (information.growth[number] > information.enough[number]) information.due = 1;
    return square;
}

void note_decision(Information& information) {
    fill(information.growth.data, information.growth.size, 0.0);
    information.due = 0;
}

}  // namespace vb
