#include "optimism/confidence_ball.hpp"

#include "linalg/cholesky.hpp"

namespace vb {

namespace {

Matrix sized(Matrix room, Index rows, Index cols) { return {room.data, rows, cols}; }

// y = H^{-1} y = root' root y, with `inner` as scratch
void times_inverse(ConstMatrix root, double* y, double* inner) {
    const Index m = root.rows;
    for (Index i = 0; i < m; ++i) inner[i] = dot(root[i], y, i + 1);
    fill(y, m, 0.0);
    for (Index i = 0; i < m; ++i) add_scaled(inner[i], root[i], i + 1, y);
}

// H, its root and the middle of a block; work.away becomes estimate - (center + basis middle). False where H is not
// safely positive definite.
bool find_middle(const Block& block, ConstMatrix sigma, PlacedEllipsoid& placed, PlaceWork& work) {
    const Index k = block.num_coordinates, m = block.num_free;
    const ConstMatrix basis{block.basis, k, m};
    const Index at = block.first_free_square;
    const Matrix H{placed.H.data + at, m, m}, root{placed.root.data + at, m, m};
    const Matrix product = sized(work.product, k, m), lower = sized(work.lower, m, m);
    double *middle = placed.middle.data + block.first_free, *away = work.away.data;
    fill(H.data, m * m, 0.0);
    fill(middle, m, 0.0);
    for (Index i = 0; i < k; ++i) {
        fill(product[i], m, 0.0);
        for (Index n = 0; n < k; ++n) add_scaled(sigma[i][n], basis[n], m, product[i]);
        add_scaled(away[i], product[i], m, middle);
        for (Index n = 0; n < m; ++n) add_scaled(basis[i][n], product[i], m, H[n]);
    }
    if (!cholesky(H, lower)) return false;
    invert_lower(lower, root);
    times_inverse(root, middle, work.pull.data);
    for (Index i = 0; i < k; ++i) away[i] -= dot(basis[i], middle, m);
    return true;
}

// The nearest point of P in a block, into placed.near; room[number] becomes its square distance from the middle.
QpStatus find_nearest(const Block& block, Index number, PlacedEllipsoid& placed, PlaceWork& work,
                      SupportWork& support) {
    const Ellipsoid ellipsoid = placed.in_block(block, number);
    double *slack = placed.slack.data + block.first_facet, *near = placed.near.data + block.first_free;
    facet_values(block.facets, block.facets.offsets, ellipsoid.middle, slack);
    SupportPoint at{near, work.active.data, 0, 0.0};
    const QpStatus status = nearest(ellipsoid, block.facets, slack, at, support);
    placed.room[number] = quadratic_form(ellipsoid.H, near);
    add_scaled(1.0, ellipsoid.middle, block.num_free, near);
    return status;
}

}  // namespace

PlacedEllipsoid make_placed_ellipsoid(Arena& arena, const FeasibleSet& set) {
    PlacedEllipsoid placed;
    placed.H = arena.take<double>(set.num_free_squares);
    placed.root = arena.take<double>(set.num_free_squares);
    placed.middle = arena.take<double>(set.num_free);
    placed.near = arena.take<double>(set.num_free);
    placed.slack = arena.take<double>(set.num_facets);
    placed.room = arena.take<double>(set.num_blocks);
    return placed;
}

PlaceWork make_place_work(Arena& arena, const FeasibleSet& set) {
    PlaceWork work;
    work.product = arena.matrix(set.most_coordinates, set.most_free);
    work.lower = arena.matrix(set.most_free, set.most_free);
    work.away = arena.take<double>(set.most_coordinates);
    work.pull = arena.take<double>(set.most_free);
    work.active = arena.take<Index>(set.most_free);
    return work;
}

Placement place_ellipsoid(const FeasibleSet& set, const ConfidenceEllipsoid& given, PlacedEllipsoid& placed,
                          PlaceWork& work, SupportWork& support) {
    double distance = 0.0;  // the square of it, of P from the estimate
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        const ConstMatrix sigma{given.sigma + block.first_square, block.num_coordinates, block.num_coordinates};
        for (Index i = 0; i < block.num_coordinates; ++i) {
            const Index at = block.coordinates[i];
            work.away[i] = given.estimate[at] - set.center[at];
        }
        placed.room[b] = 0.0;
        if (block.num_free > 0) {
            if (!find_middle(block, sigma, placed, work)) return {kInfinity, Status::not_convex};
            const QpStatus status = find_nearest(block, b, placed, work, support);
            if (status != QpStatus::solved) return {kInfinity, status_of(status)};
        }
        distance += quadratic_form(sigma, work.away.data) + placed.room[b];
    }
    const double missed = distance - given.radius * given.radius;
    for (double& room : placed.room) room -= missed;
    return {missed};
}

}  // namespace vb
