#include "linalg/product.hpp"

#include "common/numbers.hpp"
#include "linalg/lanes.hpp"

namespace vb {

namespace {

constexpr Index kTileRows = 6;             // with 8 columns: 12 sums, which is what 16 registers leave room for
constexpr Index kTileCols = 2 * kLanes;
constexpr Index kDepth = 128;              // rows of B that are copied together

// One strip of B, kTileCols wide, with zeros beyond its last column.
struct Strip {
    alignas(32) double entries[kDepth * kTileCols];
    Index depth;
};

void copy_strip(Part<const double> B, Strip& strip) {
    strip.depth = B.rows;
    for (Index k = 0; k < B.rows; ++k) {
        double* to = strip.entries + k * kTileCols;
        for (Index j = 0; j < kTileCols; ++j) to[j] = j < B.cols ? B[k][j] : 0.0;
    }
}

// c -= a strip, for Rows rows of a and c
template <Index Rows>
void subtract_tile(const double* a, Index a_stride, const Strip& strip, double* c, Index c_stride) {
    Lanes left[Rows] = {}, right[Rows] = {};
    for (Index k = 0; k < strip.depth; ++k) {
        const Lanes one = load(strip.entries + k * kTileCols), two = load(strip.entries + k * kTileCols + kLanes);
        for (Index i = 0; i < Rows; ++i) {
            const double factor = a[i * a_stride + k];
            left[i] += factor * one;
            right[i] += factor * two;
        }
    }
    for (Index i = 0; i < Rows; ++i) {
        double* to = c + i * c_stride;
        store(load(to) - left[i], to);
        store(load(to + kLanes) - right[i], to + kLanes);
    }
}

void subtract_rows(Index rows, const double* a, Index a_stride, const Strip& strip, double* c, Index c_stride) {
    switch (rows) {
        case 1: return subtract_tile<1>(a, a_stride, strip, c, c_stride);
        case 2: return subtract_tile<2>(a, a_stride, strip, c, c_stride);
        case 3: return subtract_tile<3>(a, a_stride, strip, c, c_stride);
        case 4: return subtract_tile<4>(a, a_stride, strip, c, c_stride);
        case 5: return subtract_tile<5>(a, a_stride, strip, c, c_stride);
        default: return subtract_tile<6>(a, a_stride, strip, c, c_stride);
    }
}

// The same where fewer columns than a tile's are left: by way of a whole tile.
void subtract_edge(Index rows, const double* a, Index a_stride, const Strip& strip, double* c, Index c_stride, Index cols) {
    alignas(32) double tile[kTileRows * kTileCols] = {};
    for (Index i = 0; i < rows; ++i) copy(c + i * c_stride, cols, tile + i * kTileCols);
    subtract_rows(rows, a, a_stride, strip, tile, kTileCols);
    for (Index i = 0; i < rows; ++i) copy(tile + i * kTileCols, cols, c + i * c_stride);
}

void subtract_strip(Part<double> C, Part<const double> A, const Strip& strip) {
    for (Index i = 0; i < C.rows; i += kTileRows) {
        const Index rows = C.rows - i < kTileRows ? C.rows - i : kTileRows;
        if (C.cols == kTileCols) {
            subtract_rows(rows, A[i], A.stride, strip, C[i], C.stride);
        } else {
            subtract_edge(rows, A[i], A.stride, strip, C[i], C.stride, C.cols);
        }
    }
}

}  // namespace

void subtract_product(Part<double> C, Part<const double> A, Part<const double> B) {
    Strip strip;
    for (Index k = 0; k < B.rows; k += kDepth) {
        const Index depth = B.rows - k < kDepth ? B.rows - k : kDepth;
        for (Index j = 0; j < C.cols; j += kTileCols) {
            const Index cols = C.cols - j < kTileCols ? C.cols - j : kTileCols;
            copy_strip({B[k] + j, depth, cols, B.stride}, strip);
            subtract_strip({C.data + j, C.rows, cols, C.stride}, {A.data + k, A.rows, depth, A.stride}, strip);
        }
    }
}

namespace {

template <Index Rows>
void multiply_some(const double* m, Index cols, const double* v, double* out) {
    Lanes sums[Rows] = {};
    Index j = 0;
    for (; j + kLanes <= cols; j += kLanes) {
        const Lanes part_of_v = load(v + j);
        for (Index i = 0; i < Rows; ++i) sums[i] += load(m + i * cols + j) * part_of_v;
    }
    for (Index i = 0; i < Rows; ++i) out[i] = sum(sums[i]);
    for (; j < cols; ++j) {
        for (Index i = 0; i < Rows; ++i) out[i] += m[i * cols + j] * v[j];
    }
}

}  // namespace

void multiply_rows(ConstMatrix M, const double* v, double* out) {
    constexpr Index kTogether = 4;  // rows that share the loads of v
    Index i = 0;
    for (; i + kTogether <= M.rows; i += kTogether) multiply_some<kTogether>(M[i], M.cols, v, out + i);
    for (; i < M.rows; ++i) multiply_some<1>(M[i], M.cols, v, out + i);
}

}  // namespace vb
