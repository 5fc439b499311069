// Sampling, as C sees it.
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "model/build_model.hpp"
#include "sampling/hit_and_run.hpp"

using namespace vb;

struct vb_sampler {
    Arena arena;
    Sampler sampler;
};

extern "C" {

vb_status vb_sampler_new(const vb_model* model, vb_sampler** sampler) {
    if (sampler == nullptr) return VB_BAD_ARGUMENT;
    *sampler = nullptr;
    if (model == nullptr) return VB_BAD_ARGUMENT;
    vb_sampler* made = make_handle<vb_sampler>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    if (!make_sampler(made->arena, model->known.model, model->known.set, made->sampler)) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *sampler = made;
    return VB_OK;
}

void vb_sampler_free(vb_sampler* sampler) { free_handle(sampler); }

vb_status vb_sampler_look(vb_sampler* handle, vb_sampler_view* state) {
    if (handle == nullptr || state == nullptr) return VB_BAD_ARGUMENT;
    const Sampler& sampler = handle->sampler;
    const FeasibleSet& set = *sampler.posterior.set;
    *state = {sampler.y.data,      sampler.reference.data, sampler.posterior.share.data, sampler.center.data,
              set.num_facets,      set.num_free_squares,   set.num_free};
    return VB_OK;
}

vb_status vb_sampler_sample(vb_sampler* handle, const double* counts, int64_t thinning, const double* normals,
                            const double* uniforms, double* theta) {
    if (handle == nullptr || counts == nullptr || theta == nullptr || thinning < 1) return VB_BAD_ARGUMENT;
    const FeasibleSet& set = *handle->sampler.posterior.set;
    if (!is_given(normals, set.num_free) || !is_given(uniforms, set.num_free)) return VB_BAD_ARGUMENT;
    sample(handle->sampler, counts, {thinning, normals, uniforms});
    assemble(set, handle->sampler.y.data, theta);
    return VB_OK;
}

}  // extern "C"
