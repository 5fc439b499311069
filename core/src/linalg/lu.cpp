// By halves: the left columns are factored, the right ones solved with them and reduced by a matrix product, which
// is where the time goes; what is left is factored in turn. Up to sixteen columns are eliminated in registers, row by row.
#include "linalg/lu.hpp"

#include "common/numbers.hpp"
#include "common/lanes.hpp"
#include "common/tuning.hpp"
#include "linalg/product.hpp"

namespace vb {

namespace {

// The first half of n, in whole panels.
Index half(Index n) { return larger(n / 2 / tuning.lu_panel, Index{1}) * tuning.lu_panel; }

// Rows of a panel, Width lanes at a time.
template <Index Width>
struct PanelRow {
    Lanes x[Width];

    void read(const double* from) {
        for (Index w = 0; w < Width; ++w) x[w] = load(from + w * kLanes);
    }
    void write(double* to) const {
        for (Index w = 0; w < Width; ++w) store(x[w], to + w * kLanes);
    }
};

// Pivot rows divided by their pivot u, so that x -= x[k] scaled[k] eliminates entry k of a row. Entries before k and
// beyond the panel are zero, and entry k is 1 - 1/u, which leaves the multiplier x[k]/u in its place.
template <Index Width>
struct Pivots {
    PanelRow<Width> scaled[Width * kLanes];

    // Adds pivot row k, and puts the inverse of its pivot on the diagonal.
    void add(Index k, Index cols, PanelRow<Width>& row) {
        alignas(32) double entries[Width * kLanes];
        row.write(entries);
        const double inverse = 1.0 / entries[k];
        for (Index w = 0; w < Width; ++w) {
            const Lanes rest = between(w * kLanes, k, cols, row.x[w] * inverse, all(0.0));
            scaled[k].x[w] = between(w * kLanes, k - 1, k + 1, all(1.0 - inverse), rest);
            row.x[w] = between(w * kLanes, k - 1, k + 1, all(inverse), row.x[w]);
        }
    }

    // Eliminates the first `count` entries of a row, and leaves their multipliers there.
    void eliminate(Index count, PanelRow<Width>& row) const {
        VB_UNROLL
        for (Index k = 0; k < Width * kLanes; ++k) {
            if (k == count) break;
            const double value = row.x[k / kLanes][k % kLanes];
            for (Index w = k / kLanes; w < Width; ++w) row.x[w] = fused(-value, scaled[k].x[w], row.x[w]);
        }
    }
};

// Factors a panel: `cols` columns, at most Width * kLanes, of all rows from the diagonal on. Rows are read and written
// in whole lanes, beyond the panel's columns, where nothing changes; only the last one could end with the matrix. Each
// is read before the one above it is written: a read that overlaps a fresh write has to wait for it.
template <Index Width>
void factor_panel(Part<double> panel) {
    Pivots<Width> pivots;
    PanelRow<Width> row, following;
    alignas(32) double last[Width * kLanes] = {};
    const Index cols = panel.cols, end = panel.rows - 1;
    copy(panel[end], cols, last);
    following.read(end > 0 ? panel.data : last);
    for (Index i = 0; i <= end; ++i) {
        row = following;
        if (i < end) following.read(i + 1 < end ? panel[i + 1] : last);
        pivots.eliminate(i < cols ? i : cols, row);
        if (i < cols) pivots.add(i, cols, row);
        row.write(i < end ? panel[i] : last);
    }
    copy(last, cols, panel[end]);
}

// X becomes L^{-1} X, for the L of a square part of the factors.
void solve_lower(Part<const double> lu, Part<double> X) {
    const Index n = lu.rows;
    if (n <= tuning.lu_panel) {
        for (Index i = 1; i < n; ++i) {
            for (Index k = 0; k < i; ++k) add_scaled(-lu[i][k], X[k], X.cols, X[i]);
        }
        return;
    }
    const Index top = half(n), low = n - top;
    const Part<double> X_low{X[top], low, X.cols, X.stride};
    solve_lower({lu.data, top, top, lu.stride}, {X.data, top, X.cols, X.stride});
    subtract_product(X_low, {lu[top], low, top, lu.stride}, {X.data, top, X.cols, X.stride});
    solve_lower({lu[top] + top, low, low, lu.stride}, X_low);
}

// X becomes U^{-1} X.
void solve_upper(Part<const double> lu, Part<double> X) {
    const Index n = lu.rows;
    if (n <= tuning.lu_panel) {
        for (Index i = n - 1; i >= 0; --i) {
            for (Index k = i + 1; k < n; ++k) add_scaled(-lu[i][k], X[k], X.cols, X[i]);
            for (Index j = 0; j < X.cols; ++j) X[i][j] *= lu[i][i];
        }
        return;
    }
    const Index top = half(n), low = n - top;
    const Part<double> X_top{X.data, top, X.cols, X.stride}, X_low{X[top], low, X.cols, X.stride};
    solve_upper({lu[top] + top, low, low, lu.stride}, X_low);
    subtract_product(X_top, {lu.data + top, top, low, lu.stride}, X_low);
    solve_upper({lu.data, top, top, lu.stride}, X_top);
}

// Factors the columns of a part that has at least as many rows.
void factor_columns(Part<double> m) {
    if (m.cols <= 4) return factor_panel<1>(m);
    if (m.cols <= 8) return factor_panel<2>(m);
    if (m.cols <= 12) return factor_panel<3>(m);
    if (m.cols <= tuning.lu_panel) return factor_panel<4>(m);
    const Index left = half(m.cols), right = m.cols - left, low = m.rows - left;
    const Part<double> corner{m.data + left, left, right, m.stride}, rest{m[left] + left, low, right, m.stride};
    factor_columns({m.data, m.rows, left, m.stride});
    solve_lower({m.data, left, left, m.stride}, corner);
    subtract_product(rest, {m[left], low, left, m.stride}, corner);
    factor_columns(rest);
}

}  // namespace

void lu_factor(Matrix matrix) { factor_columns({matrix.data, matrix.rows, matrix.cols, matrix.cols}); }

void lu_solve(ConstMatrix lu, double* x) {
    const Index n = lu.rows;
    for (Index i = 1; i < n; ++i) x[i] -= dot(lu[i], x, i);
    for (Index i = n - 1; i >= 0; --i) x[i] = (x[i] - dot(lu[i] + i + 1, x + i + 1, n - i - 1)) * lu[i][i];
}

void lu_solve_columns(ConstMatrix lu, Matrix X) {
    const Part<const double> factors{lu.data, lu.rows, lu.cols, lu.cols};
    const Part<double> columns{X.data, X.rows, X.cols, X.cols};
    solve_lower(factors, columns);
    solve_upper(factors, columns);
}

void lu_solve_transposed(ConstMatrix lu, double* x) {
    const Index n = lu.rows;
    for (Index i = 0; i < n; ++i) {
        x[i] *= lu[i][i];
        add_scaled(-x[i], lu[i] + i + 1, n - i - 1, x + i + 1);
    }
    for (Index i = n - 1; i > 0; --i) add_scaled(-x[i], lu[i], i, x);
}

}  // namespace vb
