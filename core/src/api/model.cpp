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

vb_status vb_model_place(const vb_model* model, const double* theta, double* y) {
    Arena arena;
    Vector shifted = arena.take<double>(model->known.set.dimension);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    place(model->known.set, theta, y, shifted.data);
    return VB_OK;
}

}  // extern "C"
