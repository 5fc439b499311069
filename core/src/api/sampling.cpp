// Sampling, as C sees it.
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "model/build_model.hpp"
#include "sampling/hit_and_run.hpp"
#include "sampling/slice.hpp"

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

vb_status vb_sampler_look(vb_sampler* handle, vb_sampler_state* state) {
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

vb_status vb_part_excess(int64_t count, const double* weight, const double* ratio, double t, double level,
                         double* value_and_slope) {
    if (count < 0 || !is_given(weight, count) || !is_given(ratio, count) || value_and_slope == nullptr) {
        return VB_BAD_ARGUMENT;
    }
    const Excess found = excess({count, weight, ratio}, t, level);
    value_and_slope[0] = found.value;
    value_and_slope[1] = found.slope;
    return VB_OK;
}

vb_status vb_part_crossing(const vb_part_slice* slice, double* distance) {
    if (slice == nullptr || distance == nullptr || slice->count < 0 || !(slice->bound > 0.0)) return VB_BAD_ARGUMENT;
    if (!is_given(slice->weight, slice->count) || !is_given(slice->ratio, slice->count)) return VB_BAD_ARGUMENT;
    const Line line = {slice->count, slice->weight, slice->ratio};
    *distance = crossing(line, slice->level, slice->sign, slice->bound);
    return VB_OK;
}

}  // extern "C"
