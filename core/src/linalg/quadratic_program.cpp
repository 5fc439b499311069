#include "linalg/quadratic_run.hpp"

#include "linalg/cholesky.hpp"
#include "linalg/product.hpp"

namespace vb {

namespace {

constexpr Index kSpare = 8;  // violated facets remembered beyond the number of variables

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
        if (count < run.n + kSpare) {
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
    const Index known = most_violated(run);
    if (known >= 0) return known;
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
        if (run.curvature > 1e-14 * run.length) primal = -run.value(facet) / run.curvature;
        const double step = smaller(dual, primal);
        if (step == kInfinity) {  // a redundant facet through this vertex is violated by rounding alone
            return run.value(facet) < -1e-9 * (1.0 + run.size) ? Added::contradiction : Added::redundant;
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

}  // namespace

void measure(Run& run) {
    run.size = largest_size(run.at.d, run.n);
    run.tolerance = run.size < 10.0 ? 1e-14 * (1.0 + run.size) : 1e-13 + 1e-15 * run.size;
}

QpStatus add_all_violated(Run& run) {
    const Index most = run.trusts_frame() ? kMostOnFrame : 50 * (run.n + 10);
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

QpWork make_qp_work(Arena& arena, Index most_free, Index most_facets) {
    QpWork work;
    const Index n = most_free, room = most_free + kSpare;
    work.lower = arena.matrix(n, n);
    work.square = arena.matrix(n, n);
    work.frame = arena.matrix(n, n);
    work.upper = arena.matrix(n, n);
    work.direction = arena.take<double>(room);
    work.normal_step = arena.take<double>(room);
    work.r = arena.take<double>(room);
    work.depth = arena.take<double>(room);
    work.guess = arena.take<Index>(room);
    work.values = arena.take<double>(most_facets);
    work.is_active = arena.take<std::uint8_t>(most_facets);
    work.multiplier = arena.take<double>(room);
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

ConstMatrix qp_frame(const QpWork& work, Index n) { return sized(work.frame, n); }

ConstMatrix qp_upper(const QpWork& work, Index n) { return sized(work.upper, n); }

}  // namespace vb
