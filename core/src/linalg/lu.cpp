#include "linalg/lu.hpp"

#include "common/numbers.hpp"

namespace vb {

namespace {

constexpr Index kPlain = 60;  // up to this many rows plain loops beat blocks
constexpr Index kBlock = 48;  // columns that are eliminated together

// Eliminates columns first..last of the rows from first on; rows below last get their multipliers.
void factor_span(Matrix m, Index first, Index last) {
    for (Index k = first; k < last; ++k) {
        const double* pivot = m[k];
        const double inverse = 1.0 / pivot[k];
        for (Index i = k + 1; i < m.rows; ++i) {
            double* row = m[i];
            if (row[k] == 0.0) continue;
            row[k] *= inverse;
            add_scaled(-row[k], pivot + k + 1, last - k - 1, row + k + 1);
        }
    }
}

// The rows first..last of the columns from last on: solved with the block's unit lower triangle.
void solve_right(Matrix m, Index first, Index last) {
    for (Index k = first; k < last; ++k) {
        for (Index i = k + 1; i < last; ++i) add_scaled(-m[i][k], m[k] + last, m.cols - last, m[i] + last);
    }
}

// Rows and columns from last on, less the product of the block's columns and rows.
void update_trailing(Matrix m, Index first, Index last) {
    for (Index i = last; i < m.rows; ++i) {
        for (Index k = first; k < last; ++k) add_scaled(-m[i][k], m[k] + last, m.cols - last, m[i] + last);
    }
}

}  // namespace

void lu_factor(Matrix matrix) {
    const Index n = matrix.rows;
    if (n <= kPlain) {
        factor_span(matrix, 0, n);
        return;
    }
    for (Index first = 0; first < n; first += kBlock) {
        const Index last = first + kBlock < n ? first + kBlock : n;
        factor_span(matrix, first, last);
        solve_right(matrix, first, last);
        update_trailing(matrix, first, last);
    }
}

void lu_solve(ConstMatrix lu, double* x) {
    const Index n = lu.rows;
    for (Index i = 1; i < n; ++i) x[i] -= dot(lu[i], x, i);
    for (Index i = n - 1; i >= 0; --i) {
        x[i] = (x[i] - dot(lu[i] + i + 1, x + i + 1, n - i - 1)) / lu[i][i];
    }
}

void lu_solve_columns(ConstMatrix lu, Matrix X) {
    const Index n = lu.rows, m = X.cols;
    for (Index i = 1; i < n; ++i) {
        for (Index j = 0; j < i; ++j) add_scaled(-lu[i][j], X[j], m, X[i]);
    }
    for (Index i = n - 1; i >= 0; --i) {
        for (Index j = i + 1; j < n; ++j) add_scaled(-lu[i][j], X[j], m, X[i]);
        const double inverse = 1.0 / lu[i][i];
        for (Index k = 0; k < m; ++k) X[i][k] *= inverse;
    }
}

void lu_solve_transposed(ConstMatrix lu, double* x) {
    const Index n = lu.rows;
    for (Index i = 0; i < n; ++i) {
        x[i] /= lu[i][i];
        add_scaled(-x[i], lu[i] + i + 1, n - i - 1, x + i + 1);
    }
    for (Index i = n - 1; i > 0; --i) add_scaled(-x[i], lu[i], i, x);
}

}  // namespace vb
