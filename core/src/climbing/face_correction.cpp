#include "climbing/face_correction.hpp"

#include "climbing/curvature.hpp"
#include "common/tuning.hpp"
#include "linalg/lu.hpp"

namespace vb {

namespace {

// The blocks that govern a pair of the policy: no other sees the value's curvature.
ConstIndices touched_blocks(const Place& place, ProductScratch& product) {
    const Model& model = place.problem.model;
    const FeasibleSet& set = place.problem.set;
    fill<std::uint8_t>(product.met.data, set.num_blocks, 0);
    Index count = 0;
    for (Index s = 0; s < model.num_states; ++s) {
        const Index b = set.block_of_pair[model.pair(s, place.at.policy[s])];
        if (product.met[b] || set.blocks[b].num_free == 0) continue;
        product.met[b] = 1;
        product.touched[count++] = b;
    }
    return {product.touched.data, count};
}

// One conjugate-gradient run: where it is made, its arrays, and the blocks concerned.
struct Correction {
    const Place& place;
    ProductScratch& product;
    DirectionScratch& room;
    ConstIndices touched;

    const Block& block(Index b) const { return place.problem.set.blocks[b]; }
};

// out = (block diagonal matrices) x on the touched blocks; returns <x, out>
double multiply(const Correction& run, const double* matrices, const double* x, double* out) {
    double product = 0.0;
    for (Index b : run.touched) {
        const Block& block = run.block(b);
        const Index m = block.num_free, first = block.first_free;
        for (Index i = 0; i < m; ++i) {
            const double total = dot(matrices + block.first_free_square + i * m, x + first, m);
            out[first + i] = total;
            product += total * x[first + i];
        }
    }
    return product;
}

// out = bias * H x, all in y
void curve(const Correction& run, const double* x, double* out) {
    for (Index b : run.touched) expand_block(run.block(b), x, run.room.along.data);
    multiply_value_hessian(run.place, run.room.along.data, run.room.curved.data, run.room);
    for (Index b : run.touched) {
        reduce_block(run.block(b), run.room.curved.data, out);
        double* own = out + run.block(b).first_free;
        for (Index j = 0; j < run.block(b).num_free; ++j) own[j] *= run.place.problem.objective.bias;
    }
}

template <class Operation>
void for_touched(const Correction& run, Operation operation) {
    for (Index b : run.touched) {
        const Block& block = run.block(b);
        for (Index j = block.first_free; j < block.first_free + block.num_free; ++j) operation(j);
    }
}

// Solves (B - bias H) e = bias H d on the face, from e = 0.
void run_conjugate_gradients(const Correction& run, double accuracy) {
    ProductScratch& w = run.product;
    double size = multiply(run, w.inverse.data, w.residual.data, w.preconditioned.data);
    const double first = size;
    for_touched(run, [&](Index j) { w.search[j] = w.preconditioned[j]; });
    for (int k = 0; k < tuning.correction_products; ++k) {
        if (size <= accuracy * accuracy * first || size <= 0.0) return;
        curve(run, w.search.data, w.preconditioned.data);
        double curvature = multiply(run, w.concave.data, w.search.data, w.image.data);
        for_touched(run, [&](Index j) {
            w.image[j] -= w.preconditioned[j];
            curvature -= w.preconditioned[j] * w.search[j];
        });
        if (curvature <= tuning.correction_flat * size) return;
        const double step = size / curvature;
        for_touched(run, [&](Index j) {
            w.correction[j] += step * w.search[j];
            w.residual[j] -= step * w.image[j];
        });
        const double next = multiply(run, w.inverse.data, w.residual.data, w.preconditioned.data);
        for_touched(run, [&](Index j) { w.search[j] = w.preconditioned[j] + (next / size) * w.search[j]; });
        size = next;
    }
}

// The greatest t in [0, 1] for which y + step + t correction stays in P, where y + step is.
double longest(const Correction& run, const double* step) {
    const double* e = run.product.correction.data;
    double limit = 1.0;
    for (Index b : run.touched) {
        const Block& block = run.block(b);
        const Index first = block.first_free;
        for (Index i = 0; i < block.facets.count; ++i) {
            const double* normal = block.facets.normal(i);
            const double rate = dot(normal, e + first, block.num_free);
            if (rate >= -tuning.correction_rate) continue;
            double slack = block.facets.offsets[i];
            for (Index j = 0; j < block.num_free; ++j) slack += normal[j] * (run.place.at.y[first + j] + step[first + j]);
            if (slack + limit * rate < 0.0) limit = larger(0.0, slack) / -rate;
        }
    }
    return limit;
}

}  // namespace

DirectionScratch make_direction_scratch(Arena& arena, const Model& model, const FeasibleSet& set) {
    DirectionScratch room;
    room.along = arena.take<double>(set.dimension);
    room.curved = arena.take<double>(set.dimension);
    room.dV = arena.take<double>(model.num_states);
    room.dw = arena.take<double>(model.num_states);
    room.row = arena.take<double>(set.num_free);
    return room;
}

ProductScratch make_product_scratch(Arena& arena, const FeasibleSet& set) {
    ProductScratch product;
    product.hessian = arena.take<double>(set.num_squares);
    product.half = arena.matrix(set.most_coordinates, set.most_free);
    product.concave = arena.take<double>(set.num_free_squares);
    product.inverse = arena.take<double>(set.num_free_squares);
    Vector* free_sized[] = {&product.last,   &product.residual, &product.preconditioned,
                            &product.search, &product.image,    &product.correction};
    for (Vector* vector : free_sized) *vector = arena.take<double>(set.num_free);
    product.touched = arena.take<Index>(set.num_blocks);
    product.met = arena.take<std::uint8_t>(set.num_blocks);
    return product;
}

void multiply_value_hessian(const Place& place, const double* v, double* out, DirectionScratch& room) {
    const Model& model = place.problem.model;
    const Point& at = place.at;
    double *dV = room.dV.data, *dw = room.dw.data;
    fill(dV, model.num_states, 0.0);
    fill(dw, model.num_states, 0.0);
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, at.policy[s]);
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            const double change = model.features.along(i, v);
            dV[s] += change * model.gain(i, at.V);
            dw[model.successor[i]] += model.discount * change * place.visits[s];
        }
    }
    lu_solve(at.lu, dV);
    lu_solve_transposed(at.lu, dw);
    fill(out, place.problem.set.dimension, 0.0);
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, at.policy[s]);
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            const double ahead = model.discount * place.visits[s] * dV[model.successor[i]];
            model.features.add(i, ahead + dw[s] * model.gain(i, at.V), out);
        }
    }
}

void multiply_curvature(const Place& place, const double* v, double* out, DirectionScratch& room) {
    const Objective& objective = place.problem.objective;
    const Block& block = place.problem.set.blocks[0];
    const Index m = block.num_free;
    fill(out, m, 0.0);
    if (objective.bias > 0.0) {
        expand_block(block, v, room.along.data);
        multiply_value_hessian(place, room.along.data, room.curved.data, room);
        reduce_block(block, room.curved.data, out);
    }
    for (Index j = 0; j < m; ++j) out[j] = objective.ridge * v[j] - objective.bias * out[j];
    for (Index k = 0; k < objective.num_observed; ++k) {
        const Index i = objective.observed[k];
        const double* phi = projected(place.problem, i, room.row.data);
        add_scaled(objective.counts[i] / (place.at.p[i] * place.at.p[i]) * dot(phi, v, m), phi, m, out);
    }
}

void correct_on_face(const Place& place, double accuracy, ProductScratch& product, DirectionScratch& room, double* step) {
    const Correction run{place, product, room, touched_blocks(place, product)};
    const Index free = place.problem.set.num_free;
    fill(room.along.data, place.problem.set.dimension, 0.0);  // pairs with one successor have no block, and do not change
    fill(product.residual.data, free, 0.0);
    fill(product.correction.data, free, 0.0);
    curve(run, step, product.residual.data);
    run_conjugate_gradients(run, accuracy);
    add_scaled(longest(run, step), product.correction.data, free, step);
}

}  // namespace vb
