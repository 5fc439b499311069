#include "linalg/triangular.hpp"

#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

void cholesky_with_floor(Matrix matrix) {
    const Index n = matrix.rows;
    for (Index j = 0; j < n; ++j) {
        double* row = matrix[j];
        const double diagonal = row[j];
        row[j] = vb::sqrt(larger(diagonal - dot(row, row, j), tuning.cholesky_pivot * diagonal));
        for (Index i = j + 1; i < n; ++i) matrix[i][j] = (matrix[i][j] - dot(matrix[i], row, j)) / row[j];
    }
}

void solve_lower(ConstMatrix lower, double* x) {
    for (Index i = 0; i < lower.rows; ++i) x[i] = (x[i] - dot(lower[i], x, i)) / lower[i][i];
}

void solve_lower_transposed(ConstMatrix lower, double* x) {
    for (Index i = lower.rows - 1; i >= 0; --i) {
        x[i] /= lower[i][i];
        add_scaled(-x[i], lower[i], i, x);
    }
}

}  // namespace vb
