// Models, as C sees them.
#include "api/handle.hpp"
#include "model/build_model.hpp"

using namespace vb;

extern "C" {

vb_status vb_model_new(const vb_model_data* data, vb_model** model) {
    if (model == nullptr) return VB_BAD_ARGUMENT;
    *model = nullptr;
    if (data == nullptr) return VB_BAD_ARGUMENT;
    vb_model* made = make_handle<vb_model>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    const Status status = build_model(*data, made->known);
    if (status != Status::ok) {
        free_handle(made);
        return code(status);
    }
    *model = made;
    return VB_OK;
}

void vb_model_free(vb_model* model) { free_handle(model); }

vb_status vb_model_probabilities(const vb_model* model, const double* theta, double* p) {
    probabilities(model->known.model.features, theta, p);
    return VB_OK;
}

vb_status vb_model_assemble(const vb_model* model, const double* y, double* theta) {
    assemble(model->known.set, y, theta);
    return VB_OK;
}

vb_status vb_model_value_feature(const vb_model* model, int64_t pair, const double* V, double weight, double* out) {
    const Model& known = model->known.model;
    if (pair < 0 || pair >= known.num_pairs) return VB_BAD_ARGUMENT;
    fill(out, known.features.dimension, 0.0);
    for (Index i = known.pair_begin[pair]; i < known.pair_begin[pair + 1]; ++i) {
        known.features.add(i, weight * V[known.successor[i]], out);
    }
    return VB_OK;
}

vb_status vb_model_place(const vb_model* model, const double* theta, double* y) {
    Arena arena;
    Vector shifted = arena.take<double>(model->known.set.dimension);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    place(model->known.set, theta, y, shifted.data);
    return VB_OK;
}

}  // extern "C"
