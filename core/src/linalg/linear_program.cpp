#include "linalg/linear_program.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

// The end of the set along c, from the interior point y = 0 on.
LinearMaximum maximise_from_inside(const Facets& facets, LinearProgramWork& work, double enough = kInfinity) {
    fill(work.y.data, facets.free, 0.0);
    return maximise(facets, work.direction.data, work.y.data, work, enough);
}

// Never violated again.
void take_out(EditableFacets& copy, const Facets& facets, Index i) {
    copy.offsets[i] = kInfinity;
    fill(copy.normals.data + i * facets.free, facets.free, 0.0);
    for (Index j = 0; j < facets.free; ++j) copy.by_axis[j * facets.count + i] = 0.0;
}

}  // namespace

LinearProgramWork make_linear_program_work(Arena& arena, Index free, Index facets) {
    LinearProgramWork work;
    work.B = arena.matrix(free, free);
    work.d = arena.take<double>(free);
    work.slack = arena.take<double>(facets);
    work.active = arena.take<Index>(free);
    work.direction = arena.take<double>(free);
    work.y = arena.take<double>(free);
    work.multiplier = arena.take<double>(free + 1);
    work.quadratic = make_qp_work(arena, free, facets);
    work.frame = make_frame(arena, free);
    return work;
}

LinearMaximum maximise(const Facets& facets, const double* c, double* y, LinearProgramWork& work, double enough) {
    const Index m = facets.free;
    const double size = vb::sqrt(dot(c, c, m));
    double eps = size;
    LinearMaximum found = {dot(c, y, m), false};
    QpSolution solution = {work.d.data, work.active.data, work.multiplier.data, 0, work.frame};
    fill(work.B.data, m * m, 0.0);
    for (Index k = 0; k < tuning.linear_steps; ++k) {
        for (Index i = 0; i < m; ++i) work.B[i][i] = eps;
        facet_values(facets, facets.offsets, y, work.slack.data);
        const QuadraticProgram program = {work.B, c, facets, work.slack.data};
        if (solve_qp(program, solution, work.quadratic) != QpStatus::solved) break;
        for (Index j = 0; j < m; ++j) y[j] += work.d[j];
        found.value = dot(c, y, m);
        if (found.value >= enough) break;
        if (largest_size(work.d.data, m) <= tuning.linear_settled * larger(1.0, largest_size(y, m))) {
            found.exact = true;
            break;
        }
        eps = larger(0.1 * eps, tuning.linear_last_ridge * size);
    }
    return found;
}

EditableFacets make_editable_facets(Arena& arena, const Facets& facets) {
    EditableFacets made;
    made.normals = arena.take<double>(facets.count * facets.free);
    made.by_axis = arena.take<double>(facets.count * facets.free);
    made.offsets = arena.take<double>(facets.count);
    return made;
}

void needed_facets(const Facets& facets, EditableFacets& kept, LinearProgramWork& work, std::uint8_t* needed) {
    const Index m = facets.free;
    copy(facets.normals, facets.count * m, kept.normals.data);
    copy(facets.offsets, facets.count, kept.offsets.data);
    for (Index i = 0; i < facets.count; ++i) {
        for (Index j = 0; j < m; ++j) kept.by_axis[j * facets.count + i] = facets.normal(i)[j];
    }
    const Facets rest = {facets.count, m, kept.normals.data, kept.by_axis.data, kept.offsets.data};
    for (Index i = 0; i < facets.count; ++i) {
        kept.offsets[i] = facets.offsets[i] + 1.0;  // the facet itself is relaxed, the others stay
        for (Index j = 0; j < m; ++j) work.direction[j] = -facets.normal(i)[j];
        const double enough = facets.offsets[i] - tuning.linear_margin;  // where the others let it be violated it is needed
        const LinearMaximum deepest = maximise_from_inside(rest, work, enough);
        kept.offsets[i] = facets.offsets[i];
        needed[i] = !(deepest.exact && deepest.value < enough);
        if (needed[i] == 0) take_out(kept, facets, i);
    }
}

void widths(const Facets& facets, LinearProgramWork& work, double* out) {
    for (Index j = 0; j < facets.free; ++j) {
        fill(work.direction.data, facets.free, 0.0);
        work.direction[j] = 1.0;
        const LinearMaximum high = maximise_from_inside(facets, work);
        work.direction[j] = -1.0;
        const LinearMaximum low = maximise_from_inside(facets, work);
        out[j] = high.exact && low.exact ? high.value + low.value : kInfinity;
    }
}

}  // namespace vb
