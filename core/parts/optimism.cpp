// Intersections of ellipsoids, the choice of models, L1 balls.
#include "api/handle.hpp"
#include "api/optimism.hpp"
#include "parts.h"

using namespace vb;

namespace {

bool fits(const vb_part_intersection& p) {
    if (p.free < 1 || p.ellipsoids < 1 || p.facets < 0) return false;
    if (p.facets > 0 && (p.normals == nullptr || p.offsets == nullptr)) return false;
    return p.c && p.H && p.middle && p.room && p.mu && p.y;
}

}  // namespace

extern "C" {

vb_status vb_part_intersect(vb_part_intersection* problem) {
    if (problem == nullptr || !fits(*problem)) return VB_BAD_ARGUMENT;
    vb_part_intersection& p = *problem;
    const Index m = p.free;
    Arena arena;
    View<Ellipsoid> ellipsoids = arena.take<Ellipsoid>(p.ellipsoids);
    IntersectionWork work = make_intersection_work(arena, p.ellipsoids, m);
    QpWork qp = make_qp_work(arena, m, p.facets);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    for (Index l = 0; l < p.ellipsoids; ++l) ellipsoids[l] = {{p.H + l * m * m, m, m}, {}, p.middle + l * m, p.room[l]};
    copy(p.mu, p.ellipsoids, work.here.mu.data);
    const Facets facets{p.facets, m, p.normals, nullptr, p.offsets};
    p.gap = intersect({p.c, ellipsoids, facets}, work, qp);
    copy(work.here.mu.data, p.ellipsoids, p.mu);
    copy(work.here.y.data, m, p.y);
    return VB_OK;
}

vb_status vb_part_choose_models(vb_optimist* optimist, const double* V, double* p, double* gap) {
    if (optimist == nullptr || V == nullptr || p == nullptr || gap == nullptr) return VB_BAD_ARGUMENT;
    if (optimist->plan.rounds == 0) return VB_BAD_ARGUMENT;
    *gap = choose_models(optimist->optimist.models, V, p).gap;
    return VB_OK;
}

vb_status vb_part_best_mean(int64_t count, const double* estimate, const double* gain, double radius, int64_t* order,
                            double* value) {
    if (count < 1 || !estimate || !gain || !order || !value) return VB_BAD_ARGUMENT;
    Arena arena;
    View<std::int32_t> place = arena.take<std::int32_t>(count);
    Vector sorted = arena.take<double>(count), gains = arena.take<double>(count);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    for (Index j = 0; j < count; ++j) {
        if (order[j] < 0 || order[j] >= count) return VB_BAD_ARGUMENT;
        place[j] = static_cast<std::int32_t>(order[j]);
        sorted[j] = estimate[order[j]];
        gains[j] = gain[order[j]];
    }
    RankedSuccessors all{place.data, sorted.data, nullptr, gains.data, count};
    rank(all);
    for (Index j = 0; j < count; ++j) order[j] = place[j];
    *value = best_mean(all, radius);
    return VB_OK;
}

}  // extern "C"
