// Models, as C sees them.
#include "api/checks.hpp"
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
    if (model == nullptr || theta == nullptr || !is_given(p, model->known.model.num_transitions)) return VB_BAD_ARGUMENT;
    probabilities(model->known.model.features, theta, p);
    return VB_OK;
}

vb_status vb_model_assemble(const vb_model* model, const double* y, double* theta) {
    if (model == nullptr || theta == nullptr || !is_given(y, model->known.set.num_free)) return VB_BAD_ARGUMENT;
    assemble(model->known.set, y, theta);
    return VB_OK;
}

vb_status vb_model_value_feature(const vb_model* model, int64_t pair, const double* V, double weight, double* out) {
    if (model == nullptr || V == nullptr || out == nullptr) return VB_BAD_ARGUMENT;
    const Model& known = model->known.model;
    if (pair < 0 || pair >= known.num_pairs) return VB_BAD_ARGUMENT;
    fill(out, known.features.dimension, 0.0);
    for (Index i = known.pair_begin[pair]; i < known.pair_begin[pair + 1]; ++i) {
        known.features.add(i, weight * V[known.successor[i]], out);
    }
    return VB_OK;
}

vb_status vb_model_place(const vb_model* model, const double* theta, double* y) {
    if (model == nullptr || theta == nullptr || !is_given(y, model->known.set.num_free)) return VB_BAD_ARGUMENT;
    if (!all_finite(theta, model->known.set.dimension)) return VB_BAD_ARGUMENT;
    Arena arena;
    Vector shifted = arena.take<double>(model->known.set.dimension);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    place(model->known.set, theta, y, shifted.data);
    return VB_OK;
}

}  // extern "C"
