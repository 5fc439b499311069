#include "climbing/workspace.hpp"

#include "linalg/product.hpp"

namespace vb {

namespace {

Matrix matrix_and_beyond(Arena& arena, Index rows, Index cols) {
    return {arena.take<double>(rows * cols + kBeyond).data, rows, cols};
}

DenseWork make_dense_work(Arena& arena, const Model& model, const FeasibleSet& set) {
    DenseWork work;
    const Index m = set.num_free;
    work.B = arena.matrix(m, m);
    work.concave = arena.matrix(m, m);
    work.bent = arena.matrix(m, m);
    work.Z = matrix_and_beyond(arena, model.num_states, m);
    work.Y = matrix_and_beyond(arena, model.num_states, m);
    work.scaled = matrix_and_beyond(arena, kChunk, m);
    work.row = arena.take<double>(m);
    return work;
}

void take_directions(Arena& arena, const Model& model, const FeasibleSet& set, ProductWork& work) {
    work.along = arena.take<double>(set.dimension);
    work.curved = arena.take<double>(set.dimension);
    work.dV = arena.take<double>(model.num_states);
    work.dw = arena.take<double>(model.num_states);
}

ProductWork make_product_work(Arena& arena, const Model& model, const FeasibleSet& set) {
    ProductWork work;
    work.hessian = arena.take<double>(set.num_squares);
    work.half = arena.matrix(set.most_coordinates, set.most_free);
    work.concave = arena.take<double>(set.num_free_squares);
    work.inverse = arena.take<double>(set.num_free_squares);
    Vector* free_sized[] = {&work.last, &work.residual, &work.preconditioned, &work.search, &work.image, &work.correction};
    for (Vector* vector : free_sized) *vector = arena.take<double>(set.num_free);
    take_directions(arena, model, set, work);
    work.touched = arena.take<Index>(set.num_blocks);
    work.met = arena.take<std::uint8_t>(set.num_blocks);
    return work;
}

}  // namespace

Workspace make_workspace(Arena& arena, const Model& model, const FeasibleSet& set, bool factors) {
    Workspace work;
    work.planner = make_planner(arena, model, factors);
    if (!factors) work.target = kSweptTarget;
    work.qp = make_qp_work(arena, set.most_free, set.most_facets);
    if (model.features.is_dense()) {
        work.near = make_near_facets(arena, set);
        work.dense = make_dense_work(arena, model, set);
        if (factors) take_directions(arena, model, set, work.product);
    } else {
        work.product = make_product_work(arena, model, set);
    }
    Vector* free_sized[] = {&work.slope, &work.step, &work.multiplier, &work.trial_y, &work.kept, &work.best, &work.rest};
    for (Vector* vector : free_sized) *vector = arena.take<double>(set.num_free);
    work.gradient = arena.take<double>(set.dimension);
    work.value_gradient = arena.take<double>(set.dimension);
    work.visits = arena.take<double>(model.num_states);
    work.trial_p = arena.take<double>(model.num_transitions);
    work.slack = arena.take<double>(set.most_facets);
    work.seen_p = arena.take<double>(kChunk);
    work.seen_n = arena.take<double>(kChunk);
    return work;
}

}  // namespace vb
