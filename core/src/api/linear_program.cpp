// Linear programs over facets, as C sees them.
#include "linalg/linear_program.hpp"

#include "api/checks.hpp"
#include "api/handle.hpp"
#include "common/tuning.hpp"

using namespace vb;

namespace {

bool facets_fit(const vb_facets* facets) {
    if (facets == nullptr || facets->num_facets < 1 || facets->num_free < 1) return false;
    const Index most = tuning.limit_numbers / facets->num_free;
    if (facets->num_facets > most || facets->num_free > most) {
        return false;
    }
    return facets->normals != nullptr && facets->offsets != nullptr;
}

// The facets with their normals by axis, too, where memory for that was had.
Facets facets_of(Arena& arena, const vb_facets& given) {
    const Index count = given.num_facets, m = given.num_free;
    Vector by_axis = arena.take<double>(count * m);
    for (Index i = 0; i < count && !by_axis.empty(); ++i) {
        for (Index j = 0; j < m; ++j) by_axis[j * count + i] = given.normals[i * m + j];
    }
    return {count, m, given.normals, by_axis.data, given.offsets};
}

}  // namespace

extern "C" {

vb_status vb_needed_facets(const vb_facets* facets, uint8_t* needed) {
    if (!facets_fit(facets) || needed == nullptr) return VB_BAD_ARGUMENT;
    Arena arena;
    const Facets all = {facets->num_facets, facets->num_free, facets->normals, nullptr, facets->offsets};
    LinearProgramWork work = make_linear_program_work(arena, all.free, all.count);
    EditableFacets kept = make_editable_facets(arena, all);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    needed_facets(all, kept, work, needed);
    return VB_OK;
}

vb_status vb_widths(const vb_facets* facets, double* width) {
    if (!facets_fit(facets) || width == nullptr) return VB_BAD_ARGUMENT;
    Arena arena;
    const Facets all = facets_of(arena, *facets);
    LinearProgramWork work = make_linear_program_work(arena, all.free, all.count);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    widths(all, work, width);
    return VB_OK;
}

vb_status vb_furthest(const vb_facets* facets, int64_t count, const double* direction, double* y) {
    if (!facets_fit(facets) || count < 0 || !is_given(direction, count) || !is_given(y, count)) return VB_BAD_ARGUMENT;
    Arena arena;
    const Facets all = facets_of(arena, *facets);
    LinearProgramWork work = make_linear_program_work(arena, all.free, all.count);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    bool exact = true;
    for (Index k = 0; k < count; ++k) {
        double* end = y + k * all.free;
        fill(end, all.free, 0.0);
        exact &= maximise(all, direction + k * all.free, end, work).exact;
    }
    return exact ? VB_OK : VB_OUT_OF_ITERATIONS;
}

}  // extern "C"
