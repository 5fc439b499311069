// The frame of a program: what becomes of it when a facet is dropped, and how it serves the next program.
#include "linalg/cholesky.hpp"
#include "linalg/product.hpp"
#include "linalg/quadratic_run.hpp"
#include "linalg/triangular.hpp"

namespace vb {

namespace {

constexpr double kStationary = 1e-12;  // of the largest number at hand: what may be left of the slope

// Rotates rows j and j + 1 of the frame, and of the factor from column j on, so that upper[j + 1][j] vanishes.
void rotate(Run& run, Index j) {
    const double a = run.upper[j][j], b = run.upper[j + 1][j];
    if (b == 0.0) return;
    const double h = vb::sqrt(a * a + b * b), c = a / h, s = b / h;
    run.upper[j][j] = h;
    run.upper[j + 1][j] = 0.0;
    for (Index i = j + 1; i < run.count - 1; ++i) {
        const double x = run.upper[j][i], y = run.upper[j + 1][i];
        run.upper[j][i] = c * x + s * y;
        run.upper[j + 1][i] = c * y - s * x;
    }
    for (Index i = 0; i < run.n; ++i) {
        const double x = run.frame[j][i], y = run.frame[j + 1][i];
        run.frame[j][i] = c * x + s * y;
        run.frame[j + 1][i] = c * y - s * x;
    }
}

// Row k of the frame becomes one of the face's, which begin there: of length 1 in the norm of B, and orthogonal to the rows of
// active facets. False where it has no curvature.
bool join_face(Run& run, Index k) {
    const Index n = run.n;
    double *row = run.frame[k], *image = run.work.normal_step.data;
    if (run.trusts_frame()) {
        run.program.curve->multiply(run.program.curve->where, row, image);
    } else {
        multiply_rows(run.program.B, row, image);
    }
    const double square = dot(row, image, n);
    if (!(square > 1e-14 * largest_size(image, n) * largest_size(row, n))) return false;
    const double scale = 1.0 / vb::sqrt(square);
    for (Index i = 0; i < n; ++i) {
        row[i] *= scale;
        image[i] *= scale;
    }
    for (Index i = 0; i < k; ++i) add_scaled(-dot(run.frame[i], image, n), row, n, run.frame[i]);
    return true;
}

}  // namespace

void drop(Run& run, Index k) {
    QpSolution& at = run.at;
    run.work.is_active[at.active[k]] = 0;
    for (Index j = k; j < run.count - 1; ++j) {
        at.active[j] = at.active[j + 1];
        at.multiplier[j] = at.multiplier[j + 1];
        for (Index i = 0; i < j + 2; ++i) run.upper[i][j] = run.upper[i][j + 1];
    }
    at.multiplier[run.count - 1] = at.multiplier[run.count];
    for (Index j = k; j < run.count - 1; ++j) rotate(run, j);
    --run.count;
    if (run.again) run.flat = !join_face(run, run.count) || run.flat;
}

void settle(Run& run) {
    double* r = run.work.r.data;
    for (Index k = 0; k < run.count; ++k) {
        double total = -run.value(run.at.active[k]);
        for (Index i = 0; i < k; ++i) total -= run.upper[i][k] * r[i];
        r[k] = total / run.upper[k][k];
    }
    for (Index k = 0; k < run.count; ++k) add_scaled(r[k], run.frame[k], run.n, run.at.d);
}

namespace {

// out = -rows v
void multiply_negated(ConstMatrix rows, const double* v, double* out) {
    multiply_rows(rows, v, out);
    for (Index j = 0; j < rows.rows; ++j) out[j] = -out[j];
}

// out = L^{-1} rows, in place
void divide_rows(ConstMatrix L, Matrix rows, double* scratch) {
    for (Index k = 0; k < rows.rows; ++k) {
        const double scale = 1.0 / L[k][k];
        for (Index i = 0; i < k; ++i) scratch[i] = -L[k][i];
        add_rows({rows.data, k, rows.cols}, scratch, rows[k]);
        for (Index j = 0; j < rows.cols; ++j) rows[k][j] *= scale;
    }
}

// The old frame for a new B: rows Z of the face become orthonormal in its norm, L^{-1} Z with Z B Z' = L L', and all others
// orthogonal to them.
bool renew_frame(Run& run) {
    const Index n = run.n, first = run.count, rows = n - first;
    const Matrix face{run.frame[first], rows, n}, images{run.work.lower.data, rows, n};  // images: B times the face's rows
    Matrix square{run.work.square.data, rows, rows};
    fill(images.data, rows * n, 0.0);
    subtract_product({images.data, rows, n, n}, {face.data, rows, n, n}, {run.program.B.data, n, n, n});
    for (Index i = 0; i < rows * n; ++i) images.data[i] = -images.data[i];
    for (Index k = 0; k < rows; ++k) multiply_rows({face.data, k + 1, n}, images[k], square[k]);
    if (!cholesky(square, square)) return false;
    double* along = run.work.r.data;
    divide_rows(square, face, along);
    for (Index k = 0; k < first; ++k) {
        multiply_negated(images, run.frame[k], along);
        solve_lower(square, along);
        add_rows(face, along, run.frame[k]);
    }
    return true;
}

// out = g - B d; where the frame is trusted, g: d is in the face, and B d orthogonal to all other rows of the frame
void slope_at(const Run& run, double* out) {
    if (run.trusts_frame()) return copy(run.program.g, run.n, out);
    multiply_rows(run.program.B, run.at.d, out);
    for (Index i = 0; i < run.n; ++i) out[i] = run.program.g[i] - out[i];
}

// The multipliers of the active facets at the maximum of the face, d; the place of the least of them.
Index find_multipliers(Run& run) {
    double *slope = run.work.direction.data, *u = run.at.multiplier;
    slope_at(run, slope);
    Index least = 0;
    for (Index k = run.count - 1; k >= 0; --k) {
        double total = -dot(run.frame[k], slope, run.n);
        for (Index j = k + 1; j < run.count; ++j) total -= run.upper[k][j] * u[j];
        u[k] = total / run.upper[k][k];
        if (k == run.count - 1 || u[k] < u[least]) least = k;
    }
    return least;
}

// The maximum on the face where the last program ended, or on a larger one where all multipliers are positive.
bool begin_again(Run& run) {
    const Index n = run.n;
    run.again = true;
    run.count = run.at.num_active;
    fill<std::uint8_t>(run.work.is_active.data, run.program.facets.count, 0);
    for (Index k = 0; k < run.count; ++k) run.work.is_active[run.at.active[k]] = 1;
    if (!run.trusts_frame() && !renew_frame(run)) return false;
    fill(run.at.d, n, 0.0);
    settle(run);
    for (Index k = run.count; k < n; ++k) add_scaled(dot(run.frame[k], run.program.g, n), run.frame[k], n, run.at.d);
    for (Index turn = 0; run.count > 0; ++turn) {
        const Index least = find_multipliers(run);
        if (run.at.multiplier[least] >= 0.0) break;
        if (run.trusts_frame() && turn >= kMostOnFrame) return false;
        drop(run, least);
        if (run.flat) return false;
        const double* row = run.frame[run.count];  // the direction that has become free
        slope_at(run, run.work.direction.data);
        add_scaled(dot(row, run.work.direction.data, n), row, n, run.at.d);
    }
    measure(run);
    return true;
}

// Whether g - B d + normals' u vanishes, up to rounding: what many programs have left of the frame is still good.
bool is_stationary(Run& run) {
    if (run.trusts_frame()) return true;
    double *rest = run.work.direction.data, largest = largest_size(run.program.g, run.n);
    slope_at(run, rest);
    for (Index k = 0; k < run.count; ++k) {
        const double u = run.at.multiplier[k];
        largest = larger(largest, u);
        add_scaled(u, run.program.facets.normal(run.at.active[k]), run.n, rest);
    }
    return largest_size(rest, run.n) <= kStationary * largest;
}

}  // namespace

bool solve_again(Run& run) {
    const bool solved = begin_again(run) && add_all_violated(run) == QpStatus::solved && is_stationary(run);
    run.at.num_active = run.count;
    return solved;
}

}  // namespace vb
