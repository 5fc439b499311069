#include "optimism/ellipsoid.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

// One search for s: the problem, the point, and what the last program says about c.
struct Search {
    const SupportProblem& problem;
    SupportPoint& at;
    SupportWork& work;
    Index m;
    double unit;          // the s of the closed form
    double kappa = 0.0;   // square length in H^{-1} of the part of c along the active facets
    double size = 0.0;    // that of c
    double slope = 0.0;   // the least growth of a multiplier with s, at most 0
    double left = 0.0;    // room - d'Hd
    double low = 0.0, high = kInfinity;  // known to hold s

    bool flat() const { return kappa <= 1e-22 * size; }
    bool vertex() const { return left >= 0.0 && flat() && slope >= -1e-11 * vb::sqrt(size); }
};

QpStatus solve_around(Search& search, const double* slack, double* d, double s, Index& num_active) {
    const Ellipsoid& ellipsoid = search.problem.ellipsoid;
    double* target = search.work.target.data;
    for (Index i = 0; i < search.m; ++i) target[i] = s * search.problem.c[i];
    QpSolution solution{d, search.at.active, search.work.multiplier.data, num_active, search.work.frame};
    const QuadraticProgram program{ellipsoid.H, target, search.problem.facets, slack, ellipsoid.root};
    const QpStatus status = solve_qp(program, solution, search.work.qp);
    num_active = solution.num_active;
    return status;
}

// What the last program says about c: kappa, size, slope and what is left of the room.
void split(Search& search) {
    const Index m = search.m, count = search.at.num_active;
    const ConstMatrix frame = search.work.frame.sized(m).rows, upper = search.work.frame.sized(m).upper;
    double* along = search.work.along.data;
    search.kappa = search.size = search.slope = 0.0;
    for (Index j = 0; j < m; ++j) {
        along[j] = dot(frame[j], search.problem.c, m);
        search.size += along[j] * along[j];
        if (j >= count) search.kappa += along[j] * along[j];
    }
    for (Index k = count - 1; k >= 0; --k) {
        double total = along[k];
        for (Index j = k + 1; j < count; ++j) total -= upper[k][j] * along[j];
        along[k] = total / upper[k][k];
        search.slope = smaller(search.slope, -along[k] * vb::fabs(upper[k][k]));
    }
    search.left = search.problem.ellipsoid.room - quadratic_form(search.problem.ellipsoid.H, search.at.d);
}

// From d on towards a maximiser of <c, d> over all facets, while it stays inside the ellipsoid; returns the gap,
// infinite where the ellipsoid was left.
//
// Each step e is a quadratic program around the last point, which for polyhedra ends after finitely many. No point of
// the ellipsoid has more than 2 |e| sqrt(room) / s above the end of a step.
double best_of_all(Search& search, Index& num_active) {
    const SupportProblem& problem = search.problem;
    const ConstMatrix H = problem.ellipsoid.H;
    const double room = problem.ellipsoid.room, most = tuning.ellipsoid_farthest * search.unit;
    double *d = search.at.d, *step = search.work.step.data, *here = search.work.here.data;
    double s = tuning.ellipsoid_far * search.unit;
    bool inside = quadratic_form(H, d) <= room;
    for (int turn = 0; turn < tuning.ellipsoid_steps && inside; ++turn) {
        facet_values(problem.facets, problem.slack, d, here);
        if (solve_around(search, here, step, s, num_active) != QpStatus::solved) break;
        const double moved = quadratic_form(H, step);
        add_scaled(1.0, step, search.m, d);
        inside = quadratic_form(H, d) <= room;
        const double gap = 2.0 * vb::sqrt(moved * room) / s;
        if (gap <= problem.close && inside) return gap;
        if (moved < 1e-4 * room) {  // it creeps along a face that is nearly flat
            if (s >= most) break;
            s = smaller(8.0 * s, most);
        }
    }
    return kInfinity;
}

// The s that meets the boundary on the active facets at hand, kept between low and high.
double following(const Search& search) {
    const double s = search.at.s, low = search.low, high = search.high;
    const double square = search.flat() ? -1.0 : s * s + search.left / search.kappa;
    double next = 0.0;
    if (low * low < square && square < high * high) {
        next = vb::sqrt(square);
    } else if (high == kInfinity) {
        next = 8.0 * s;
    } else {
        next = low > 1e-3 * high ? vb::sqrt(low * high) : 1e-2 * high;
    }
    return smaller(next, tuning.ellipsoid_farthest * search.unit);
}

// Whether the search has ended where d is, in a maximiser over all facets.
bool ends_beyond(Search& search, double& gap) {
    Index num_active = search.at.num_active;
    gap = best_of_all(search, num_active);
    if (gap == kInfinity) return false;
    search.at.num_active = num_active;
    search.at.s = kInfinity;
    return true;
}

// Rounds of solving for s. The gap is infinite where a program failed.
SupportEnd find_multiplier(Search& search) {
    SupportPoint& at = search.at;
    const double room = search.problem.ellipsoid.room, far = tuning.ellipsoid_far * search.unit;
    bool tried = false;
    double gap = 0.0;
    for (int round = 0; round < tuning.ellipsoid_rounds; ++round) {
        const QpStatus status = solve_around(search, search.problem.slack, at.d, at.s, at.num_active);
        if (status != QpStatus::solved) return {kInfinity, status};
        split(search);
        if (search.vertex()) {
            at.s = kInfinity;
            return {0.0};
        }
        const double left = search.left;
        const bool farthest = left > 0.0 && at.s >= tuning.ellipsoid_farthest * search.unit;
        if (vb::fabs(left) <= tuning.ellipsoid_exact * room || farthest) break;
        if (left > 0.0) {
            search.low = at.s;
            if (search.high == kInfinity && (search.flat() || at.s >= far) && !tried) {
                tried = true;
                if (ends_beyond(search, gap)) return {gap};
            }
        } else {
            search.high = at.s;
        }
        const double next = following(search);
        if (vb::fabs(next - at.s) <= 1e-15 * at.s || next < 1e-200) break;
        at.s = next;
    }
    return {larger(search.left, 0.0) / (2.0 * at.s)};
}

}  // namespace

Status status_of(QpStatus status) {
    switch (status) {
        case QpStatus::solved: return Status::ok;
        case QpStatus::not_convex: return Status::not_convex;
        case QpStatus::infeasible: return Status::infeasible;
        case QpStatus::too_long: break;
    }
    return Status::out_of_iterations;
}

double quadratic_form(ConstMatrix H, const double* d) {
    double total = 0.0;
    for (Index i = 0; i < H.rows; ++i) total += d[i] * dot(H[i], d, H.cols);
    return total;
}

double excess(const Ellipsoid& ellipsoid, const double* y, double* q) {
    const Index m = ellipsoid.H.rows;
    double total = -ellipsoid.room;
    for (Index i = 0; i < m; ++i) {
        const double* row = ellipsoid.H[i];
        double inner = 0.0;
        for (Index j = 0; j < m; ++j) inner += row[j] * (y[j] - ellipsoid.middle[j]);
        q[i] = inner;
        total += inner * (y[i] - ellipsoid.middle[i]);
    }
    return total;
}

double square_length(ConstMatrix root, const double* c) {
    double total = 0.0;
    for (Index i = 0; i < root.rows; ++i) {
        const double inner = dot(root[i], c, i + 1);
        total += inner * inner;
    }
    return total;
}

SupportWork make_support_work(Arena& arena, Index most_free, Index most_facets) {
    SupportWork work;
    work.target = arena.take<double>(most_free);
    work.along = arena.take<double>(most_free);
    work.step = arena.take<double>(most_free);
    work.multiplier = arena.take<double>(most_free + 1);
    work.here = arena.take<double>(most_facets);
    work.qp = make_qp_work(arena, most_free, most_facets);
    work.frame = make_frame(arena, most_free);
    return work;
}

SupportEnd support(const SupportProblem& problem, SupportPoint& at, SupportWork& work) {
    const Ellipsoid& ellipsoid = problem.ellipsoid;
    const double unit = vb::sqrt(ellipsoid.room / square_length(ellipsoid.root, problem.c));
    Search search{problem, at, work, ellipsoid.H.rows, unit};
    if (at.s == kInfinity) {
        const double gap = best_of_all(search, at.num_active);
        if (gap < kInfinity) return {gap};
        at.s = unit;
    }
    at.s = smaller(larger(at.s, 0.1 * unit), tuning.ellipsoid_far * unit);
    return find_multiplier(search);
}

QpStatus nearest(const Ellipsoid& ellipsoid, const Facets& facets, const double* slack, SupportPoint& at,
                 SupportWork& work) {
    fill(work.target.data, ellipsoid.H.rows, 0.0);
    QpSolution solution{at.d, at.active, work.multiplier.data, 0, work.frame};
    const QuadraticProgram program{ellipsoid.H, work.target.data, facets, slack, ellipsoid.root};
    const QpStatus status = solve_qp(program, solution, work.qp);
    at.num_active = solution.num_active;
    return status;
}

}  // namespace vb
