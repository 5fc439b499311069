#include "climbing/block_program.hpp"

#include "climbing/ascent.hpp"
#include "common/tuning.hpp"

namespace vb {

ProgramScratch make_program_scratch(Arena& arena, const Model& model, const FeasibleSet& set) {
    ProgramScratch program;
    program.qp = make_qp_work(arena, set.most_free, set.most_facets);
    program.frame = make_frame(arena, set.most_free);
    program.multiplier = arena.take<double>(set.most_free + 1);
    program.slack = arena.take<double>(set.most_facets);
    if (model.features.is_dense()) program.near = make_near_facets(arena, set);
    return program;
}

void soften(Matrix B, const double* slope, double diameter, double ridge) {
    const Index m = B.rows;
    double trace = 0.0;
    for (Index i = 0; i < m; ++i) trace += B[i][i];
    const double flat = larger(0.0, tuning.soften_flat * trace / static_cast<double>(m) - ridge);
    const double extra = flat + tuning.soften_reach * largest_size(slope, m) / diameter + tuning.soften_always;
    for (Index i = 0; i < m; ++i) B[i][i] += extra;
}

namespace {

bool is_framed(const Point& at) {
    return at.factored && at.keeps_frame && at.frame.rows.rows >= tuning.frame_coordinates;
}

struct Curved {
    Place place;
    DirectionScratch& room;
};

void multiply_there(const void* where, const double* v, double* out) {
    const Curved& curved = *static_cast<const Curved*>(where);
    multiply_curvature(curved.place, v, out, curved.room);
}

}  // namespace

QpStatus solve_block(Ascent& run, Index b, Matrix B, Index num_guess) {
    const Block& block = run.problem.set.blocks[b];
    const Index first = block.first_free;
    Point& at = run.at;
    Step& step = run.tools.step;
    ProgramScratch& own = run.tools.program;
    const Curved curved{{run.problem, at, run.tools.slope.visits.data}, run.tools.direction};
    const Curve curve{multiply_there, &curved};
    QuadraticProgram program{B, run.tools.slope.in_y.data + first, block.facets, own.slack.data};
    program.curve = &curve;
    Nearby nearby;
    if (own.near.facet.empty()) {
        facet_values(block.facets, block.facets.offsets, at.y + first, own.slack.data);
    } else {
        nearby = nearby_at(own.near, block, at.y, {at.active, num_guess}, own.slack.data);
        program.nearby = &nearby;
    }
    QpSolution found{step.move.data + first, at.active + first, own.multiplier.data, num_guess, at.frame, is_framed(at)};
    const QpStatus status = solve_qp(program, found, own.qp);
    at.num_active[b] = found.num_active;
    copy(own.multiplier.data, found.num_active, step.multiplier.data + first);
    return status;
}

bool solve_on_frame(Ascent& run) {
    return is_framed(run.at) && solve_block(run, 0, {}, run.at.num_active[0]) == QpStatus::solved;
}

}  // namespace vb
