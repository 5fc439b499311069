#include "certifying/branch_and_bound.hpp"

#include "common/tuning.hpp"

#include <initializer_list>

namespace vb {

namespace {

// One run: where it stands.
struct Run {
    const Problem& problem;
    CertificateWork& work;
    double tolerance;
    double closed;  // the greatest bound among cells that were set aside
    Certificate at;
};

void note_vertex(Run& run) {
    const double f = add_vertex(run.problem, run.work.planner, run.work.lu, run.work.vertices);
    if (f > run.at.best) {
        run.at.best = f;
        run.at.vertex = run.work.vertices.count - 1;
    }
}

double bound_of(Run& run, const Index* cell) {
    const Objective& objective = run.problem.objective;
    CertificateWork& work = run.work;
    double extra = 0.0;
    if (objective.bias != 0.0) {
        value_excess(run.problem.model, work.vertices, cell, work.excess);
        extra = objective.bias * work.excess.c[objective.state];
    }
    const Decision decision = {extra, run.at.best + run.tolerance, tuning.bound_accuracy * run.tolerance};
    return extra + concave_bound(run.problem, work.vertices, cell, decision, work.concave);
}

// Bounds the cells that are new, and sets those aside that cannot hold anything much better than the best.
void bound_new_cells(Run& run) {
    CellQueue& queue = run.work.queue;
    for (; run.at.cells < run.work.cells.count; ++run.at.cells) {
        const Index cell = run.at.cells;
        const double bound = bound_of(run, run.work.cells.corners[cell]);
        queue.bounds[cell] = bound;
        if (bound > run.at.best + run.tolerance) {
            push(queue, cell);
        } else {
            run.closed = larger(run.closed, bound);
        }
    }
}

struct Edge {
    Index one = 0;
    Index two = 0;
};

// The two corners whose probabilities differ most.
Edge widest_edge(const Vertices& vertices, const Index* cell, Index corners) {
    double widest = 0.0;
    Edge edge = {1, 0};
    for (Index one = 0; one < corners; ++one) {
        for (Index two = 0; two < one; ++two) {
            const double width = largest_difference(vertices.p[cell[one]], vertices.p[cell[two]], vertices.p.cols);
            if (width > (1.0 + tuning.bound_edges_tie) * widest) {
                widest = width;
                edge = {one, two};
            }
        }
    }
    return edge;
}

// Puts a vertex in the middle of the widest edge, and a cell on either side of it.
void bisect(Run& run, Index cell) {
    Vertices& vertices = run.work.vertices;
    Cells& cells = run.work.cells;
    const Index corners = cells.corners.cols, middle = vertices.count;
    const Edge edge = widest_edge(vertices, cells.corners[cell], corners);
    const Index a = cells.corners[cell][edge.one], b = cells.corners[cell][edge.two];
    for (Index j = 0; j < vertices.y.cols; ++j) vertices.y[middle][j] = 0.5 * (vertices.y[a][j] + vertices.y[b][j]);
    copy(vertices.policy[a], vertices.policy.cols, vertices.policy[middle]);
    note_vertex(run);
    for (const Index replaced : {edge.one, edge.two}) {
        Index* half = cells.corners[cells.count++];
        copy(cells.corners[cell], corners, half);
        half[replaced] = middle;
    }
}

}  // namespace

CertificateWork make_certificate_work(Arena& arena, const Problem& problem, Index points, Index cells,
                                      Index bisections) {
    const Index corners = problem.set.num_free + 1, room = cells + 2 * bisections;
    CertificateWork work;
    work.vertices = make_vertices(arena, problem, points + bisections);
    work.cells = {cells, {arena.take_unfilled<Index>(room * corners).data, room, corners}};
    work.queue = make_cell_queue(arena, room);
    work.planner = make_planner(arena, problem.model, Method::factors);
    work.lu = make_factors(arena, work.planner);
    work.excess = make_value_excess_work(arena, problem.model, corners);
    work.concave = make_concave_bound_work(arena, problem, corners);
    return work;
}

Certificate branch_and_bound(const Problem& problem, Index points, double best, double tolerance,
                             CertificateWork& work) {
    Run run = {problem, work, tolerance, best, {}};
    run.at.best = best;
    for (Index k = 0; k < problem.objective.num_observed; ++k) {
        work.concave.counts[k] = problem.objective.counts[problem.objective.observed[k]];
    }
    for (Index v = 0; v < points; ++v) note_vertex(run);
    run.closed = run.at.best;
    while (true) {
        bound_new_cells(run);
        if (work.queue.empty()) {
            run.at.bound = larger(run.at.best, run.closed);
            break;
        }
        const bool point = work.cells.corners.cols == 1;  // P is a single point: nothing to bisect
        if (point || work.vertices.count == work.vertices.room) {
            run.at.bound = larger(run.closed, work.queue.greatest());
            run.at.status = Status::out_of_iterations;
            break;
        }
        bisect(run, pop(work.queue));
    }
    return run.at;
}

}  // namespace vb
