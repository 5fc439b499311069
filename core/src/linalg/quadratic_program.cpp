#include "linalg/quadratic_program.hpp"

#include "common/tuning.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/product.hpp"
#include "linalg/triangular.hpp"

namespace vb {

namespace {

Matrix sized(Matrix room, Index n) { return {room.data, n, n}; }

// One solve: the program, its solution so far, and the frame of directions.
struct Run {
    const QuadraticProgram& program;
    QpSolution& at;
    QpWork& work;
    Index n;
    Matrix frame, upper;
    Index count = 0;      // active facets
    Index num_guess = 0;  // facets worth a look before all are scanned
    double size = 0.0;    // of the unconstrained maximum
    double tolerance = 0.0;
    double curvature = 0.0;  // of the step along the new normal
    double length = 0.0;     // square length of the new normal
    bool again = false;      // from an old frame: rows of active facets are orthogonal to the face's, not to each other
    bool flat = false;       // a direction without curvature was met

    Run(const QuadraticProgram& program_, QpSolution& at_, QpWork& work_)
        : program(program_), at(at_), work(work_), n(program_.facets.free), frame(at_.frame.sized(n).rows),
          upper(at_.frame.sized(n).upper) {}

    bool trusts_frame() const { return program.B.empty(); }  // it is not renewed

    double value(Index facet) const { return program.facets.value(facet, program.slack, at.d); }
};

// Size and tolerance, from the d to begin with.
void measure(Run& run) {
    run.size = largest_size(run.at.d, run.n);
    run.tolerance = run.size < 10.0 ? 1e-14 * (1.0 + run.size) : 1e-13 + 1e-15 * run.size;
}

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
    if (!(square > tuning.program_flat * largest_size(image, n) * largest_size(row, n))) return false;
    const double scale = 1.0 / vb::sqrt(square);
    for (Index i = 0; i < n; ++i) {
        row[i] *= scale;
        image[i] *= scale;
    }
    for (Index i = 0; i < k; ++i) add_scaled(-dot(run.frame[i], image, n), row, n, run.frame[i]);
    return true;
}

// Forgets the k-th active facet and makes the factor triangular again.
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

// Puts d exactly on the active facets: what rounding left there is removed in one step.
void settle(Run& run) {
    double* r = run.work.r.data;
    for (Index k = 0; k < run.count; ++k) {
        double total = -run.value(run.at.active[k]);
        for (Index i = 0; i < k; ++i) total -= run.upper[i][k] * r[i];
        r[k] = total / run.upper[k][k];
    }
    for (Index k = 0; k < run.count; ++k) add_scaled(r[k], run.frame[k], run.n, run.at.d);
}

// ---- From the unconstrained maximum ----

// The frame becomes L^{-1}; false where B is not safely positive definite.
bool set_frame(Run& run) {
    const QuadraticProgram& program = run.program;
    if (!program.root.empty()) {
        copy(program.root.data, run.n * run.n, run.frame.data);
        return true;
    }
    Matrix lower = sized(run.work.lower, run.n);
    if (!cholesky(program.B, lower)) return false;
    invert_lower(lower, run.frame);
    return true;
}

// The frame, and d = B^{-1} g.
bool begin(Run& run) {
    const Index n = run.n;
    if (!set_frame(run)) return false;
    fill(run.at.d, n, 0.0);
    for (Index i = 0; i < n; ++i) {
        const double along = dot(run.frame[i], run.program.g, i + 1);
        add_scaled(along, run.frame[i], i + 1, run.at.d);
    }
    measure(run);
    run.num_guess = run.at.num_active;
    copy(run.at.active, run.num_guess, run.work.guess.data);
    fill<std::uint8_t>(run.work.is_active.data, run.program.facets.count, 0);
    return true;
}

// The facet that is violated most among those remembered; -1 where none is. Four at a time.
Index most_violated(const Run& run) {
    const Facets& facets = run.program.facets;
    double worst = -run.tolerance;
    Index found = -1;
    for (Index k = 0; k < run.num_guess;) {
        Index facet[4], count = 0;
        for (; count < 4 && k < run.num_guess; ++k) {
            if (!run.work.is_active[run.work.guess[k]]) facet[count++] = run.work.guess[k];
        }
        if (count == 0) break;
        const double* rows[4];
        double sums[4];
        for (Index i = 0; i < 4; ++i) rows[i] = facets.normal(facet[i < count ? i : 0]);
        multiply_four(rows, run.n, run.at.d, sums);
        for (Index i = 0; i < count; ++i) {
            const double value = run.program.slack[facet[i]] + sums[i];
            if (value < worst) {
                worst = value;
                found = facet[i];
            }
        }
    }
    return found;
}

bool within_reach(const Run& run, const Nearby& nearby) {
    double square = 0.0;
    for (Index j = 0; j < run.n; ++j) {
        const double apart = nearby.y[j] + run.at.d[j] - nearby.reference[j];
        square += apart * apart;
    }
    return square <= nearby.radius * nearby.radius;
}

// The values at d of all facets that can be violated there; which they are, or nothing for all.
ConstIndices look(Run& run) {
    const QuadraticProgram& program = run.program;
    double* values = run.work.values.data;
    if (program.nearby == nullptr) {
        facet_values(program.facets, program.slack, run.at.d, values);
        return {};
    }
    Nearby& nearby = *program.nearby;
    ConstIndices listed = within_reach(run, nearby) ? nearby.facet : ConstIndices{};
    if (listed.empty() && !nearby.complete) {
        some_facet_values(program.facets, {}, program.facets.offsets, nearby.y, nearby.slack);
        nearby.complete = true;
    }
    some_facet_values(program.facets, listed, program.slack, run.at.d, values);
    return listed;
}

// Remembers the facets that are violated most, a few more than variables.
void scan(Run& run) {
    const ConstIndices listed = look(run);
    Index* guess = run.work.guess.data;
    double *depth = run.work.depth.data, *values = run.work.values.data;
    Index count = 0, shallow = 0;  // shallow: the place of the least violated one remembered
    const Index seen = listed.empty() ? run.program.facets.count : listed.size;
    for (Index k = 0; k < seen; ++k) {
        if (values[k] >= -run.tolerance) continue;
        const Index i = listed.empty() ? k : listed[k];
        if (run.work.is_active[i]) continue;
        if (count < run.n + tuning.program_remembered) {
            guess[count] = i;
            depth[count] = values[k];
            if (count == 0 || values[k] > depth[shallow]) shallow = count;
            ++count;
        } else if (values[k] < depth[shallow]) {
            guess[shallow] = i;
            depth[shallow] = values[k];
            for (Index j = 0; j < count; ++j) {
                if (depth[j] > depth[shallow]) shallow = j;
            }
        }
    }
    run.num_guess = count;
}

Index next_violated(Run& run) {
    const Index remembered = most_violated(run);
    if (remembered >= 0) return remembered;
    scan(run);
    return most_violated(run);
}

// The new normal in the frame, the step along it on the face, and the rates of the multipliers in r.
void find_direction(Run& run, Index facet) {
    const Index n = run.n, count = run.count;
    const double* normal = run.program.facets.normal(facet);
    double *direction = run.work.direction.data, *step = run.work.normal_step.data, *r = run.work.r.data;
    multiply_rows(run.frame, normal, direction);
    run.curvature = dot(direction + count, direction + count, n - count);
    run.length = run.curvature + dot(direction, direction, count);
    fill(step, n, 0.0);
    add_rows({run.frame[count], n - count, n}, direction + count, step);
    for (Index k = count - 1; k >= 0; --k) {
        double total = direction[k];
        for (Index j = k + 1; j < count; ++j) total -= run.upper[k][j] * r[j];
        r[k] = total / run.upper[k][k];
    }
}

// Reflects the frame so that the new normal has components in its first count + 1 directions only.
void add_to_frame(Run& run) {
    const Index n = run.n, count = run.count;
    double *direction = run.work.direction.data, *w = run.work.normal_step.data;
    double length = vb::sqrt(dot(direction + count, direction + count, n - count));
    if (direction[count] > 0.0) length = -length;
    const double head = direction[count] - length;  // the reflection's vector is (head, direction[count + 1:])
    const double scale = length * head != 0.0 ? -1.0 / (length * head) : 0.0;
    for (Index i = 0; i < n; ++i) w[i] = head * run.frame[count][i];
    add_rows({run.frame[count] + n, n - count - 1, n}, direction + count + 1, w);
    add_scaled(-scale * head, w, n, run.frame[count]);
    for (Index j = count + 1; j < n; ++j) add_scaled(-scale * direction[j], w, n, run.frame[j]);
    for (Index i = 0; i < count; ++i) run.upper[i][count] = direction[i];
    run.upper[count][count] = length;
}

enum class Added { yes, redundant, contradiction };

// Moves until the facet holds, dropping active facets whose multiplier would turn negative.
Added add_facet(Run& run, Index facet) {
    double *u = run.at.multiplier, *r = run.work.r.data;
    u[run.count] = 0.0;
    while (true) {
        find_direction(run, facet);
        double dual = kInfinity, primal = kInfinity;
        Index blocking = -1;
        for (Index k = 0; k < run.count; ++k) {
            if (r[k] > 0.0 && u[k] / r[k] < dual) {
                dual = u[k] / r[k];
                blocking = k;
            }
        }
        if (run.curvature > tuning.program_flat * run.length) primal = -run.value(facet) / run.curvature;
        const double step = smaller(dual, primal);
        if (step == kInfinity) {  // a redundant facet through this vertex is violated by rounding alone
            return run.value(facet) < -tuning.program_contradiction * (1.0 + run.size) ? Added::contradiction : Added::redundant;
        }
        for (Index k = 0; k < run.count; ++k) u[k] -= step * r[k];
        u[run.count] += step;
        if (primal < kInfinity) add_scaled(step, run.work.normal_step.data, run.n, run.at.d);
        if (primal <= dual) {
            add_to_frame(run);
            run.at.active[run.count++] = facet;
            return Added::yes;
        }
        drop(run, blocking);
        if (run.flat) return Added::contradiction;
    }
}

// From the maximum on a face, with multipliers that are not negative, to that of the program: adds violated facets one by one.
QpStatus add_all_violated(Run& run) {
    const Index most = run.trusts_frame() ? tuning.program_on_frame : tuning.program_turns * (run.n + 10);
    for (Index turn = 0; turn < most; ++turn) {
        const Index facet = next_violated(run);
        if (facet < 0) {
            settle(run);
            return QpStatus::solved;
        }
        ++run.at.turns;
        if (add_facet(run, facet) == Added::contradiction) return QpStatus::infeasible;
        run.work.is_active[facet] = 1;
    }
    return QpStatus::too_long;
}

// ---- From the face where the last program ended ----

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
        if (run.trusts_frame() && turn >= tuning.program_on_frame) return false;
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
    return largest_size(rest, run.n) <= tuning.program_stationary * largest;
}

// The whole solve from the frame that the last program left; false where that was of no use.
bool solve_again(Run& run) {
    const bool solved = begin_again(run) && add_all_violated(run) == QpStatus::solved && is_stationary(run);
    run.at.num_active = run.count;
    return solved;
}

}  // namespace

Frame make_frame(Arena& arena, Index most_free) {
    return {arena.matrix(most_free, most_free), arena.matrix(most_free, most_free)};
}

QpWork make_qp_work(Arena& arena, Index most_free, Index most_facets) {
    QpWork work;
    const Index n = most_free, room = most_free + tuning.program_remembered;
    work.lower = arena.matrix(n, n);
    work.square = arena.matrix(n, n);
    work.direction = arena.take<double>(room);
    work.normal_step = arena.take<double>(room);
    work.r = arena.take<double>(room);
    work.depth = arena.take<double>(room);
    work.guess = arena.take<Index>(room);
    work.values = arena.take<double>(most_facets);
    work.is_active = arena.take<std::uint8_t>(most_facets);
    return work;
}

QpStatus solve_qp(const QuadraticProgram& program, QpSolution& solution, QpWork& work) {
    solution.turns = 0;
    if (solution.framed) {
        Run run(program, solution, work);
        if (solve_again(run)) return QpStatus::solved;
        if (run.trusts_frame()) return QpStatus::not_convex;
    }
    Run run(program, solution, work);
    if (!begin(run)) {
        solution.num_active = 0;
        return QpStatus::not_convex;
    }
    const QpStatus status = add_all_violated(run);
    solution.num_active = run.count;
    return status;
}

bool learn(const Secant& secant, Index n, double* scratch, Frame frame) {
    const double* s = secant.step;
    const double expected = dot(s, secant.image, n), shown = dot(s, secant.shown, n);
    if (!(shown > tuning.program_least_curvature * expected)) return false;
    const double a = 1.0 / vb::sqrt(expected * shown), c = 1.0 / shown;
    for (Index j = 0; j < n; ++j) scratch[j] = a * secant.image[j] - c * secant.shown[j];
    const Matrix rows = frame.sized(n).rows;
    for (Index k = 0; k < n; ++k) add_scaled(dot(scratch, rows[k], n), s, n, rows[k]);
    return true;
}

}  // namespace vb
