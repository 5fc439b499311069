#include "linalg/cholesky.hpp"

#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

bool cholesky(ConstMatrix matrix, Matrix lower) {
    const Index n = matrix.rows;
    for (Index j = 0; j < n; ++j) {
        const double rest = matrix[j][j] - dot(lower[j], lower[j], j);
        if (!(rest > tuning.cholesky_pivot * matrix[j][j])) return false;
        const double root = vb::sqrt(rest);
        lower[j][j] = root;
        const double inverse = 1.0 / root;
        for (Index i = j + 1; i < n; ++i) lower[i][j] = (matrix[i][j] - dot(lower[i], lower[j], j)) * inverse;
    }
    return true;
}

void invert_lower(ConstMatrix lower, Matrix inverse) {
    const Index n = lower.rows;
    for (Index i = 0; i < n; ++i) {
        double* row = inverse[i];
        fill(row, n, 0.0);
        const double pivot = 1.0 / lower[i][i];
        for (Index k = 0; k < i; ++k) add_scaled(-pivot * lower[i][k], inverse[k], k + 1, row);
        row[i] = pivot;
    }
}

}  // namespace vb
