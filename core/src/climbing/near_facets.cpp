#include "climbing/near_facets.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

double distance(const double* a, const double* b, Index n) {
    double square = 0.0;
    for (Index i = 0; i < n; ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
    return vb::sqrt(square);
}

Index count_within(const double* slack, Index facets, double radius) {
    Index count = 0;
    for (Index i = 0; i < facets; ++i) count += slack[i] <= radius ? 1 : 0;
    return count;
}

// Makes y the reference, unless so many facets meet there that no radius has few. Slack becomes that of all facets at y.
void look_around(NearFacets& near, const Facets& all, const double* y, double* slack) {
    some_facet_values(all, {}, all.offsets, y, slack);
    near.radius = tuning.near_widest;
    Index count = count_within(slack, all.count, near.radius);
    while (count > near.facet.size && near.radius > tuning.near_narrowest) {
        near.radius *= 0.5;
        count = count_within(slack, all.count, near.radius);
    }
    near.ready = count <= near.facet.size;
    near.count = 0;
    for (Index i = 0; near.ready && i < all.count; ++i) {
        if (slack[i] <= near.radius) near.facet[near.count++] = i;
    }
    copy(y, all.free, near.reference.data);
}

bool is_within(const NearFacets& near, const double* y, Index free, double part) {
    return near.ready && distance(y, near.reference.data, free) <= part * near.radius;
}

ConstIndices listed(const NearFacets& near) { return {near.facet.data, near.count}; }

// slack[i] at y for the facets i that are listed
void fill_slack(const Facets& all, ConstIndices some, const double* y, double* slack) {
    double values[tuning.batch];
    for (Index first = 0; first < some.size; first += tuning.batch) {
        const Index count = smaller(some.size - first, tuning.batch);
        some_facet_values(all, {some.data + first, count}, all.offsets, y, values);
        for (Index k = 0; k < count; ++k) slack[some[first + k]] = values[k];
    }
}

}  // namespace

NearFacets make_near_facets(Arena& arena, const FeasibleSet& set) {
    NearFacets near;
    const Facets& all = set.blocks[0].facets;
    if (set.num_blocks != 1 || all.count < tuning.near_many_facets) return near;
    near.reference = arena.take<double>(all.free);
    near.facet = arena.take<Index>(smaller(all.count / tuning.near_share, tuning.near_most));
    return near;
}

bool all_hold(NearFacets& near, const Block& block, const double* y, double* slack) {
    const Facets& all = block.facets;
    Index seen = all.count;
    if (near.facet.empty()) {
        facet_values(all, all.offsets, y, slack);
    } else if (is_within(near, y, all.free, 1.0) && near.count > 0) {
        some_facet_values(all, listed(near), all.offsets, y, slack);
        seen = near.count;
    } else {
        look_around(near, all, y, slack);
    }
    double least = 0.0;
    for (Index i = 0; i < seen; ++i) least = smaller(least, slack[i]);
    return least >= -tuning.near_rounding;
}

Nearby nearby_at(NearFacets& near, const Block& block, const double* y, ConstIndices tried, double* slack) {
    const Facets& all = block.facets;
    Nearby found{{}, near.reference.data, near.radius, y, slack, true};
    if (!is_within(near, y, all.free, 0.5)) {
        look_around(near, all, y, slack);
    } else {
        found.complete = false;
        fill_slack(all, listed(near), y, slack);
        fill_slack(all, tried, y, slack);
    }
    if (near.ready) found.facet = listed(near);
    found.radius = near.radius;
    return found;
}

}  // namespace vb
