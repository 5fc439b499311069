#include "climbing/near_facets.hpp"

namespace vb {

namespace {

constexpr Index kManyFacets = 128;  // below, looking at all of them costs no more
constexpr Index kNearShare = 6;     // at most this part of them is near
constexpr double kWidest = 1.0;     // the first radius tried; then halves

double distance(const double* a, const double* b, Index n) {
    double square = 0.0;
    for (Index i = 0; i < n; ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
    return vb::sqrt(square);
}

Index count_within(const NearFacets& near, Index facets, double radius) {
    Index count = 0;
    for (Index i = 0; i < facets; ++i) count += near.slack[i] <= radius ? 1 : 0;
    return count;
}

double choose_radius(const NearFacets& near, Index facets) {
    double radius = kWidest;
    while (radius > 1e-6 && count_within(near, facets, radius) > facets / kNearShare) radius *= 0.5;
    return radius;
}

void gather(NearFacets& near, const Facets& all) {
    const Index free = all.free;
    near.count = 0;
    for (Index i = 0; i < all.count; ++i) {
        const bool is_near = near.slack[i] <= near.radius && near.count < near.facet.size;
        near.place[i] = is_near ? near.count : -1;
        if (is_near) near.facet[near.count++] = i;
    }
    for (Index k = 0; k < near.count; ++k) {
        const double* normal = all.normal(near.facet[k]);
        copy(normal, free, near.normals.data + k * free);
        near.offsets[k] = all.offsets[near.facet[k]];
        for (Index j = 0; j < free; ++j) near.by_axis[j * near.count + k] = normal[j];
    }
}

}  // namespace

NearFacets make_near_facets(Arena& arena, const FeasibleSet& set) {
    NearFacets near;
    const Facets& all = set.blocks[0].facets;
    if (set.num_blocks != 1 || all.count < kManyFacets || all.by_axis == nullptr) return near;
    const Index most = all.count / kNearShare + all.free;
    near.reference = arena.take<double>(all.free);
    near.slack = arena.take<double>(all.count);
    near.facet = arena.take<Index>(most);
    near.place = arena.take<Index>(all.count);
    near.normals = arena.take<double>(most * all.free);
    near.by_axis = arena.take<double>(most * all.free);
    near.offsets = arena.take<double>(most);
    near.values = arena.take<double>(most);
    return near;
}

bool look_around(NearFacets& near, const Block& block, const double* y, Look look) {
    if (near.slack.empty()) return false;
    const bool known = near.ready && (look == Look::any || near.of_this_climb);
    if (known && distance(y, near.reference.data, block.num_free) <= 0.5 * near.radius) return true;
    const Facets& all = block.facets;
    facet_values(all, all.offsets, y, near.slack.data);
    near.radius = choose_radius(near, all.count);
    gather(near, all);
    copy(y, block.num_free, near.reference.data);
    near.ready = near.of_this_climb = count_within(near, all.count, near.radius) == near.count;
    return near.ready;
}

bool within_reach(const NearFacets& near, const double* y, Index free) {
    return distance(y, near.reference.data, free) <= near.radius;
}

}  // namespace vb
