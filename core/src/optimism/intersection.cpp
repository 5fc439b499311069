#include "optimism/intersection.hpp"

#include <utility>

#include "common/tuning.hpp"
#include "linalg/cholesky.hpp"

namespace vb {

namespace {

// How far from optimal a point is.
struct Progress {
    double slack = 0.0;  // sum of |mu_l f_l| / 2
    double worst = 0.0;  // the worst excess, relative to the room
};

Progress progress(const IntersectionProblem& problem, const DualPoint& at) {
    Progress found;
    for (Index l = 0; l < problem.ellipsoids.size; ++l) {
        found.slack += 0.5 * vb::fabs(at.mu[l] * at.excess[l]);
        found.worst = larger(found.worst, at.excess[l] / problem.ellipsoids[l].room);
    }
    return found;
}

// B and the target of the program whose maximiser is y(mu).
void weigh(const IntersectionProblem& problem, const Vector& mu, Matrix B, double* target) {
    const Index m = B.rows;
    copy(problem.c, m, target);
    fill(B.data, m * m, 0.0);
    for (Index l = 0; l < problem.ellipsoids.size; ++l) {
        if (!(mu[l] > 0.0)) continue;
        const Ellipsoid& ellipsoid = problem.ellipsoids[l];
        add_scaled(mu[l], ellipsoid.H.data, m * m, B.data);
        for (Index i = 0; i < m; ++i) target[i] += mu[l] * dot(ellipsoid.H[i], ellipsoid.middle, m);
    }
}

// g at at.mu, with y, the excesses and pulls; infinite where the program failed.
void evaluate(const IntersectionProblem& problem, DualPoint& at, IntersectionWork& work, QpWork& qp) {
    const Index m = problem.facets.free;
    const Matrix B{work.B.data, m, m};
    weigh(problem, at.mu, B, work.target.data);
    QpSolution solution{at.y.data, work.active.data, work.multiplier.data, work.num_active, work.frame};
    const QuadraticProgram program{B, work.target.data, problem.facets, problem.facets.offsets};
    const QpStatus status = solve_qp(program, solution, qp);
    work.num_active = solution.num_active;
    at.g = kInfinity;
    if (status != QpStatus::solved) return;
    at.g = dot(problem.c, at.y.data, m);
    for (Index l = 0; l < problem.ellipsoids.size; ++l) {
        at.excess[l] = excess(problem.ellipsoids[l], at.y.data, at.pull[l]);
        at.g -= 0.5 * at.mu[l] * at.excess[l];
    }
}

// The weights that are positive or ought to become so; returns how many.
Index choose_weights(const DualPoint& at, Index count, IntersectionWork& work) {
    Index n = 0;
    for (Index l = 0; l < count; ++l) {
        work.step[l] = 0.0;
        if (at.mu[l] > 0.0 || at.excess[l] > 0.0) work.chosen[n++] = l;
    }
    return n;
}

// The factor of the dual's curvature in the chosen weights, W'W with W the pulls along the face.
Matrix factor_curvature(const DualPoint& at, Index n, Index m, IntersectionWork& work) {
    const ConstMatrix frame = work.frame.sized(m).rows;
    const Matrix M{work.curvature.data, n, n}, lower{work.lower.data, n, n};
    double trace = 0.0;
    for (Index k = 0; k < n; ++k) {
        const double* pull = at.pull[work.chosen[k]];
        for (Index j = work.num_active; j < m; ++j) work.along[k][j] = dot(frame[j], pull, m);
    }
    for (Index a = 0; a < n; ++a) {
        for (Index b = 0; b < n; ++b) {
            M[a][b] = dot(work.along[a] + work.num_active, work.along[b] + work.num_active, m - work.num_active);
        }
        trace += M[a][a];
    }
    for (Index a = 0; a < n; ++a) M[a][a] += 1e-10 * trace + 1e-300;
    if (!cholesky(M, lower)) {
        for (Index a = 0; a < n; ++a) M[a][a] += 1e-4 * trace;
        cholesky(M, lower);
    }
    return lower;
}

// The step, made no longer than `most`, or exactly that long where it must be.
void limit(Vector step, double most, bool exactly) {
    const double largest = largest_size(step.data, step.size);
    if (!exactly && !(largest > most)) return;
    const double scale = most / larger(largest, 1e-300);
    for (double& entry : step) entry *= scale;
}

double sum(const Vector& x) {
    double total = 0.0;
    for (const double entry : x) total += entry;
    return total;
}

// Newton's step on the chosen weights, at most ten times the sum of all.
void newton_step(const DualPoint& at, Index m, IntersectionWork& work) {
    const Index n = choose_weights(at, at.mu.size, work);
    const Matrix lower = factor_curvature(at, n, m, work);
    double* x = work.solution.data;
    for (Index a = 0; a < n; ++a) {
        x[a] = (0.5 * at.excess[work.chosen[a]] - dot(lower[a], x, a)) / lower[a][a];
    }
    for (Index a = n - 1; a >= 0; --a) {
        for (Index b = a + 1; b < n; ++b) x[a] -= lower[b][a] * x[b];
        x[a] /= lower[a][a];
        work.step[work.chosen[a]] = x[a];
    }
    limit(work.step, 10.0 * sum(at.mu), false);
}

// Along the gradient, as long as mu, scaled by what the ellipsoids have room for.
void gradient_step(const IntersectionProblem& problem, const DualPoint& at, IntersectionWork& work) {
    for (Index l = 0; l < at.mu.size; ++l) {
        const bool moves = at.mu[l] > 0.0 || at.excess[l] > 0.0;
        work.step[l] = moves ? at.excess[l] / problem.ellipsoids[l].room : 0.0;
    }
    limit(work.step, sum(at.mu), true);
}

// trial.mu = mu + size step, at least 0; returns what g should fall by, to first order.
double move(const DualPoint& at, const Vector& step, double size, DualPoint& trial) {
    double fall = 0.0;
    for (Index l = 0; l < at.mu.size; ++l) {
        trial.mu[l] = larger(at.mu[l] + size * step[l], 0.0);
        fall += 0.5 * at.excess[l] * (trial.mu[l] - at.mu[l]);
    }
    return fall;
}

// Whether g falls enough at some part of work.step; then work.trial is there.
bool falls_along(const IntersectionProblem& problem, IntersectionWork& work, QpWork& qp) {
    const double total = sum(work.here.mu);
    double size = 1.0;
    for (int k = 0; k < tuning.intersection_halvings; ++k, size *= 0.5) {
        const double fall = move(work.here, work.step, size, work.trial);
        if (!(fall > 0.0 && sum(work.trial.mu) > 1e-12 * total)) continue;
        evaluate(problem, work.trial, work, qp);
        if (work.trial.g <= work.here.g - 1e-4 * fall) return true;
    }
    return false;
}

DualPoint make_dual_point(Arena& arena, Index ellipsoids, Index most_free) {
    DualPoint point;
    point.mu = arena.take<double>(ellipsoids);
    point.excess = arena.take<double>(ellipsoids);
    point.pull = arena.matrix(ellipsoids, most_free);
    point.y = arena.take<double>(most_free);
    return point;
}

}  // namespace

IntersectionWork make_intersection_work(Arena& arena, Index ellipsoids, Index most_free) {
    IntersectionWork work;
    work.here = make_dual_point(arena, ellipsoids, most_free);
    work.trial = make_dual_point(arena, ellipsoids, most_free);
    work.step = arena.take<double>(ellipsoids);
    work.chosen = arena.take<Index>(ellipsoids);
    work.along = arena.matrix(ellipsoids, most_free);
    work.curvature = arena.matrix(ellipsoids, ellipsoids);
    work.lower = arena.matrix(ellipsoids, ellipsoids);
    work.solution = arena.take<double>(ellipsoids);
    work.B = arena.matrix(most_free, most_free);
    work.target = arena.take<double>(most_free);
    work.multiplier = arena.take<double>(most_free + 1);
    work.active = arena.take<Index>(most_free);
    work.frame = make_frame(arena, most_free);
    return work;
}

double intersect(const IntersectionProblem& problem, IntersectionWork& work, QpWork& qp) {
    work.here.mu.size = work.trial.mu.size = work.step.size = problem.ellipsoids.size;  // there may be room for more
    evaluate(problem, work.here, work, qp);
    if (work.here.g == kInfinity) return kInfinity;
    for (int round = 0; round < tuning.intersection_rounds; ++round) {
        const Progress now = progress(problem, work.here);
        if (now.worst <= 1e-10 && now.slack <= tuning.intersection_gap * (1.0 + vb::fabs(work.here.g))) break;
        newton_step(work.here, problem.facets.free, work);
        if (!falls_along(problem, work, qp)) {
            gradient_step(problem, work.here, work);  // projection can spoil Newton's direction, never this one
            if (!falls_along(problem, work, qp)) break;
        }
        std::swap(work.here, work.trial);
    }
    const Progress end = progress(problem, work.here);
    return end.worst <= tuning.intersection_feasible ? end.slack : kInfinity;
}

}  // namespace vb
