#include "bayes/lower_bounds.hpp"

namespace vb {

LowerBounds make_lower_bounds(Arena& arena, const LowerSizes& sizes) {
    LowerBounds bounds;
    bounds.candidates = sizes.candidates;
    bounds.most_followers = sizes.followers;
    bounds.values = arena.take_unfilled<double>(sizes.vectors * sizes.candidates);
    bounds.place = arena.take_unfilled<Index>(sizes.vectors);
    bounds.action = arena.take_unfilled<Index>(sizes.vectors);
    bounds.next = arena.take_unfilled<Index>(sizes.vectors);
    bounds.first = arena.take<Index>(sizes.places);
    bounds.last = arena.take<Index>(sizes.places);
    bounds.follow = arena.take_unfilled<std::int32_t>(sizes.vectors * sizes.followers);
    if (arena.failed()) return bounds;
    fill<Index>(bounds.first.data, sizes.places, -1);
    fill<Index>(bounds.last.data, sizes.places, -1);
    return bounds;
}

Index add_vector(LowerBounds& bounds, Index place, Index action) {
    const Index made = bounds.count++;
    bounds.place[made] = place;
    bounds.action[made] = action;
    bounds.next[made] = -1;
    fill<std::int32_t>(bounds.follow.data + made * bounds.most_followers, bounds.most_followers, -1);
    if (bounds.first[place] < 0) {
        bounds.first[place] = made;
    } else {
        bounds.next[bounds.last[place]] = made;
    }
    bounds.last[place] = made;
    return made;
}

void mark_followers(const LowerBounds& bounds, std::uint8_t* marked) {
    // Followers are older than what follows them into.
    for (Index vector = bounds.count - 1; vector >= 0; --vector) {
        if (marked[vector] == 0) continue;
        const std::int32_t* follow = bounds.follow.data + vector * bounds.most_followers;
        for (Index i = 0; i < bounds.most_followers && follow[i] >= 0; ++i) marked[follow[i]] = 1;
    }
}

}  // namespace vb
