#include "linalg/product.hpp"

#include "common/numbers.hpp"
#include "common/lanes.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

#if defined(__AVX__)
constexpr Index kTileRows = 6;  // with 8 columns: 12 sums, which is what 16 registers leave room for
#else
constexpr Index kTileRows = 3;
#endif
constexpr Index kTileCols = 2 * kLanes;

// One strip of B, kTileCols wide, with zeros beyond its last column.
struct Strip {
    alignas(32) double entries[tuning.product_depth * kTileCols];
    Index depth;
};

void copy_strip(Part<const double> B, Strip& strip) {
    strip.depth = B.rows;
    for (Index k = 0; k < B.rows; ++k) {
        double* to = strip.entries + k * kTileCols;
        for (Index j = 0; j < kTileCols; ++j) to[j] = j < B.cols ? B[k][j] : 0.0;
    }
}

// C -= A strip, for Rows rows of A and C
template <Index Rows>
void subtract_tile(Part<double> C, Part<const double> A, const Strip& strip) {
    Lanes left[Rows] = {}, right[Rows] = {};
    for (Index k = 0; k < strip.depth; ++k) {
        const Lanes one = load(strip.entries + k * kTileCols), two = load(strip.entries + k * kTileCols + kLanes);
        for (Index i = 0; i < Rows; ++i) {
            const double factor = A[i][k];
            left[i] = fused(factor, one, left[i]);
            right[i] = fused(factor, two, right[i]);
        }
    }
    for (Index i = 0; i < Rows; ++i) {
        double* to = C[i];
        store(load(to) - left[i], to);
        store(load(to + kLanes) - right[i], to + kLanes);
    }
}

void subtract_rows(Part<double> C, Part<const double> A, const Strip& strip) {
    switch (C.rows) {
        case 1: return subtract_tile<1>(C, A, strip);
        case 2: return subtract_tile<2>(C, A, strip);
        case 3: return subtract_tile<3>(C, A, strip);
        case 4: return subtract_tile<4>(C, A, strip);
        case 5: return subtract_tile<5>(C, A, strip);
        default: return subtract_tile<kTileRows>(C, A, strip);
    }
}

// The same where fewer columns than a tile's are left: by way of a whole tile.
void subtract_edge(Part<double> C, Part<const double> A, const Strip& strip) {
    alignas(32) double entries[kTileRows * kTileCols] = {};
    const Part<double> tile{entries, C.rows, kTileCols, kTileCols};
    for (Index i = 0; i < C.rows; ++i) copy(C[i], C.cols, tile[i]);
    subtract_rows(tile, A, strip);
    for (Index i = 0; i < C.rows; ++i) copy(tile[i], C.cols, C[i]);
}

void subtract_strip(Part<double> C, Part<const double> A, const Strip& strip) {
    for (Index i = 0; i < C.rows; i += kTileRows) {
        const Index rows = C.rows - i < kTileRows ? C.rows - i : kTileRows;
        const Part<double> tile{C[i], rows, C.cols, C.stride};
        const Part<const double> left{A[i], rows, A.cols, A.stride};
        if (C.cols == kTileCols) {
            subtract_rows(tile, left, strip);
        } else {
            subtract_edge(tile, left, strip);
        }
    }
}

}  // namespace

void subtract_product(Part<double> C, Part<const double> A, Part<const double> B) {
    Strip strip;
    for (Index k = 0; k < B.rows; k += tuning.product_depth) {
        const Index depth = B.rows - k < tuning.product_depth ? B.rows - k : tuning.product_depth;
        for (Index j = 0; j < C.cols; j += kTileCols) {
            const Index cols = C.cols - j < kTileCols ? C.cols - j : kTileCols;
            copy_strip({B[k] + j, depth, cols, B.stride}, strip);
            subtract_strip({C.data + j, C.rows, cols, C.stride}, {A.data + k, A.rows, depth, A.stride}, strip);
        }
    }
}

namespace {

// A tile of C += A' B at (i, j): row after row of A and B. What lies beyond their last column is not written.
void add_transposed_tile(ConstMatrix A, ConstMatrix B, Index i, Index j, Matrix C) {
    Lanes left[kTileRows] = {}, right[kTileRows] = {};
    for (Index k = 0; k < A.rows; ++k) {
        const double* factor = A[k] + i;
        const Lanes one = load(B[k] + j), two = load(B[k] + j + kLanes);
        VB_UNROLL
        for (Index r = 0; r < kTileRows; ++r) {
            left[r] = fused(factor[r], one, left[r]);
            right[r] = fused(factor[r], two, right[r]);
        }
    }
    const Index rows = C.rows - i < kTileRows ? C.rows - i : kTileRows;
    const Index cols = C.cols - j < kTileCols ? C.cols - j : kTileCols;
    for (Index r = 0; r < rows; ++r) {
        double sums[kTileCols];
        store(left[r], sums);
        store(right[r], sums + kLanes);
        add_scaled(1.0, sums, cols, C[i + r] + j);
    }
}

}  // namespace

void add_transposed_product(ConstMatrix A, ConstMatrix B, Matrix C) {
    static_assert(kBeyond >= kTileCols && kBeyond >= kTileRows);
    for (Index i = 0; i < C.rows; i += kTileRows) {
        for (Index j = 0; j < C.cols && j < i + kTileRows; j += kTileCols) add_transposed_tile(A, B, i, j, C);
    }
}

// They share the loads of v, and their sums do not wait for each other.
void multiply_four(const double* const* rows, Index cols, const double* v, double* out) {
    Lanes one = {}, two = {}, three = {}, four = {};
    Index j = 0;
    for (; j + kLanes <= cols; j += kLanes) {
        const Lanes factor = load(v + j);
        one = fused(load(rows[0] + j), factor, one);
        two = fused(load(rows[1] + j), factor, two);
        three = fused(load(rows[2] + j), factor, three);
        four = fused(load(rows[3] + j), factor, four);
    }
    out[0] = sum(one);
    out[1] = sum(two);
    out[2] = sum(three);
    out[3] = sum(four);
    for (; j < cols; ++j) {
        for (Index i = 0; i < 4; ++i) out[i] = fused(rows[i][j], v[j], out[i]);
    }
}

double long_dot(const double* x, const double* y, Index n) {
    Lanes one = {}, two = {}, three = {}, four = {};
    Index j = 0;
    for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
        one = fused(load(x + j), load(y + j), one);
        two = fused(load(x + j + kLanes), load(y + j + kLanes), two);
        three = fused(load(x + j + 2 * kLanes), load(y + j + 2 * kLanes), three);
        four = fused(load(x + j + 3 * kLanes), load(y + j + 3 * kLanes), four);
    }
    return sum((one + two) + (three + four)) + dot(x + j, y + j, n - j);
}

Total total_of(const double* x, Index n) {
    Total found{0.0, 0.0};
    Index j = 0;
    if (n >= 2 * kLanes) {
        Lanes one = {}, two = {}, lowest = {};
        for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
            const Lanes left = load(x + j), right = load(x + j + kLanes);
            one += left;
            two += right;
            lowest = least(right, least(left, lowest));
        }
        found.sum = sum(one + two);
        for (Index k = 0; k < kLanes; ++k) found.least = smaller(lowest[k], found.least);
    }
    for (; j < n; ++j) {
        found.sum += x[j];
        found.least = smaller(x[j], found.least);
    }
    return found;
}

void add_rows(ConstMatrix M, const double* scale, double* out) {
    Index i = 0;
    for (; i + 4 <= M.rows; i += 4) {  // out is read and written once for four rows
        const double *one = M[i], *two = M[i + 1], *three = M[i + 2], *four = M[i + 3];
        const double a = scale[i], b = scale[i + 1], c = scale[i + 2], d = scale[i + 3];
        for (Index j = 0; j < M.cols; ++j) out[j] = fused(a, one[j], b * two[j]) + fused(c, three[j], fused(d, four[j], out[j]));
    }
    for (; i < M.rows; ++i) add_scaled(scale[i], M[i], M.cols, out);
}

void multiply_rows(ConstMatrix M, const double* v, double* out) {
    Index i = 0;
    for (; i + 4 <= M.rows; i += 4) {
        const double* const rows[4] = {M[i], M[i + 1], M[i + 2], M[i + 3]};
        multiply_four(rows, M.cols, v, out + i);
    }
    for (; i < M.rows; ++i) out[i] = long_dot(M[i], v, M.cols);
}

}  // namespace vb
