#include "linalg/sparse_lu.hpp"

#include "common/numbers.hpp"
#include "linalg/product.hpp"

namespace vb {

namespace {

// What belongs to one block.
struct Piece {
    Index first, width, length;
    double* square;
    double* beside;
    double* below;
    const std::int32_t* tail;
};

Piece piece_of(const SparseFactors& factors, Index b) {
    const Elimination& plan = factors.plan;
    const Index at = factors.beside_begin[b];
    return {plan.first[b], plan.width(b), plan.length(b), factors.square.data + factors.square_begin[b],
            factors.beside.data + at, factors.below.data + at, plan.tail.data + plan.tail_begin[b]};
}

// The row of pivot i in I - matrix, in the order of the pivots.
void spread_row(const SparseMatrix& matrix, const Elimination& plan, Index i, double* row) {
    const Index old = plan.order[i];
    for (Index k = matrix.begin[old]; k < matrix.end[old]; ++k) row[plan.place[matrix.column[k]]] -= matrix.value[k];
    row[i] += 1.0;
}

// Turns the entries of a row in a block, x, into those of L, by `count` rows of the block's U.
void eliminate_in_block(const Piece& block, Index count, double* x) {
    for (Index k = 0; k < count; ++k) {
        const double* U = block.square + k * block.width;
        x[k] *= U[k];
        add_scaled(-x[k], U + k + 1, block.width - k - 1, x + k + 1);
    }
}

// row(tail) -= x' beside, for the first `count` rows of the block
void subtract_beside(const Piece& block, const double* x, Index count, double* some, double* row) {
    if (count == 1) {
        for (Index t = 0; t < block.length; ++t) row[block.tail[t]] = fused(-x[0], block.beside[t], row[block.tail[t]]);
        return;
    }
    fill(some, block.length, 0.0);
    add_rows({block.beside, count, block.length}, x, some);
    for (Index t = 0; t < block.length; ++t) row[block.tail[t]] -= some[t];
}

// By a block that ends before the row: its part of the row goes to L.
void eliminate_block(SparseFactors& factors, Index b) {
    const Piece block = piece_of(factors, b);
    double *row = factors.row.data, *x = block.below + factors.met[b]++ * block.width;
    for (Index k = 0; k < block.width; ++k) {
        x[k] = row[block.first + k];
        row[block.first + k] = 0.0;
    }
    eliminate_in_block(block, block.width, x);
    subtract_beside(block, x, block.width, factors.some.data, row);
}

// By the rows of its own block that come before it; what is left is a row of that block.
void eliminate_own(SparseFactors& factors, Index i) {
    const Piece block = piece_of(factors, factors.plan.block_of[i]);
    double *row = factors.row.data, *x = block.square + (i - block.first) * block.width;
    for (Index k = 0; k < block.width; ++k) {
        x[k] = row[block.first + k];
        row[block.first + k] = 0.0;
    }
    const Index own = i - block.first;
    eliminate_in_block(block, own, x);
    if (own > 0) subtract_beside(block, x, own, factors.some.data, row);
    double* beside = block.beside + own * block.length;
    for (Index t = 0; t < block.length; ++t) {
        beside[t] = row[block.tail[t]];
        row[block.tail[t]] = 0.0;
    }
    x[own] = 1.0 / x[own];
}

}  // namespace

SparseFactors make_sparse_factors(Arena& arena, const Elimination& plan) {
    SparseFactors factors;
    factors.plan = plan;
    factors.square_begin = arena.take<Index>(plan.num_blocks + 1);
    factors.beside_begin = arena.take<Index>(plan.num_blocks + 1);
    factors.met = arena.take<std::int32_t>(plan.num_blocks);
    factors.row = arena.take<double>(plan.n);
    factors.x = arena.take<double>(plan.n);
    if (arena.failed()) return factors;
    Index longest = 0;
    for (Index b = 0; b < plan.num_blocks; ++b) {
        const Index width = plan.width(b), length = plan.length(b);
        factors.square_begin[b + 1] = factors.square_begin[b] + width * width;
        factors.beside_begin[b + 1] = factors.beside_begin[b] + width * length;
        longest = larger(longest, length);
    }
    factors.square = arena.take_unfilled<double>(factors.square_begin[plan.num_blocks]);
    factors.beside = arena.take_unfilled<double>(factors.beside_begin[plan.num_blocks]);
    factors.below = arena.take_unfilled<double>(factors.beside_begin[plan.num_blocks]);
    factors.some = arena.take_unfilled<double>(longest);
    return factors;
}

void factor_difference(SparseFactors& factors, const SparseMatrix& matrix) {
    const Elimination& plan = factors.plan;
    fill(factors.met.data, plan.num_blocks, std::int32_t{0});
    for (Index i = 0; i < plan.n; ++i) {
        spread_row(matrix, plan, i, factors.row.data);
        for (Index k = plan.meets_begin[i]; k < plan.meets_begin[i + 1]; ++k) eliminate_block(factors, plan.meets[k]);
        eliminate_own(factors, i);
    }
}

namespace {

void put_in_order(const Elimination& plan, const double* from, double* to) {
    for (Index i = 0; i < plan.n; ++i) to[i] = from[plan.order[i]];
}

void put_back(const Elimination& plan, const double* from, double* to) {
    for (Index i = 0; i < plan.n; ++i) to[plan.order[i]] = from[i];
}

// <weights, x(tail)>
double tail_sum(const Piece& block, const double* weights, const double* x) {
    double total = 0.0;
    for (Index t = 0; t < block.length; ++t) total = fused(weights[t], x[block.tail[t]], total);
    return total;
}

void solve_lower(const Piece& block, double* x) {
    double* own = x + block.first;
    for (Index k = 1; k < block.width; ++k) own[k] -= dot(block.square + k * block.width, own, k);
    for (Index t = 0; t < block.length; ++t) x[block.tail[t]] -= dot(block.below + t * block.width, own, block.width);
}

void solve_upper(const Piece& block, double* x) {
    double* own = x + block.first;
    for (Index k = block.width - 1; k >= 0; --k) {
        const double* U = block.square + k * block.width;
        own[k] -= tail_sum(block, block.beside + k * block.length, x);
        own[k] = (own[k] - dot(U + k + 1, own + k + 1, block.width - k - 1)) * U[k];
    }
}

void solve_upper_transposed(const Piece& block, double* x) {
    double* own = x + block.first;
    for (Index k = 0; k < block.width; ++k) {
        const double* U = block.square + k * block.width;
        own[k] *= U[k];
        add_scaled(-own[k], U + k + 1, block.width - k - 1, own + k + 1);
        const double* beside = block.beside + k * block.length;
        for (Index t = 0; t < block.length; ++t) x[block.tail[t]] = fused(-own[k], beside[t], x[block.tail[t]]);
    }
}

void solve_lower_transposed(const Piece& block, double* x) {
    double* own = x + block.first;
    for (Index t = 0; t < block.length; ++t) add_scaled(-x[block.tail[t]], block.below + t * block.width, block.width, own);
    for (Index k = block.width - 1; k > 0; --k) add_scaled(-own[k], block.square + k * block.width, k, own);
}

}  // namespace

void sparse_solve(const SparseFactors& factors, double* x) {
    const Elimination& plan = factors.plan;
    put_in_order(plan, x, factors.x.data);
    for (Index b = 0; b < plan.num_blocks; ++b) solve_lower(piece_of(factors, b), factors.x.data);
    for (Index b = plan.num_blocks - 1; b >= 0; --b) solve_upper(piece_of(factors, b), factors.x.data);
    put_back(plan, factors.x.data, x);
}

void sparse_solve_transposed(const SparseFactors& factors, double* x) {
    const Elimination& plan = factors.plan;
    put_in_order(plan, x, factors.x.data);
    for (Index b = 0; b < plan.num_blocks; ++b) solve_upper_transposed(piece_of(factors, b), factors.x.data);
    for (Index b = plan.num_blocks - 1; b >= 0; --b) solve_lower_transposed(piece_of(factors, b), factors.x.data);
    put_back(plan, factors.x.data, x);
}

}  // namespace vb
