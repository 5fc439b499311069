// Programs and factors, the objective and its derivatives at any theta.
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "api/objective.hpp"
#include "climbing/curvature.hpp"
#include "climbing/face_correction.hpp"
#include "common/logarithm.hpp"
#include "linalg/cholesky.hpp"
#include "parts.h"

using namespace vb;

namespace {

bool fits(const vb_part_program& p) {
    if (p.free < 1 || p.facets < 0 || p.room < 0 || p.num_active < 0 || p.num_active > p.free) return false;
    if (!is_given(p.normals, p.facets) || !is_given(p.slack, p.facets)) return false;
    return p.B && p.g && p.d && p.active && p.multiplier && all_within(p.active, p.num_active, p.facets);
}

vb_status code_of(QpStatus status) {
    switch (status) {
        case QpStatus::solved: return VB_OK;
        case QpStatus::not_convex: return VB_NOT_CONVEX;
        case QpStatus::infeasible: return VB_INFEASIBLE;
        default: return VB_OUT_OF_ITERATIONS;
    }
}

// The normals by columns, or null.
const double* turned(const vb_part_program& p, Arena& arena) {
    if (!p.by_axis) return nullptr;
    Vector columns = arena.take<double>(p.facets * p.free);
    if (arena.failed()) return nullptr;
    for (Index i = 0; i < p.facets; ++i) {
        for (Index j = 0; j < p.free; ++j) columns[j * p.facets + i] = p.normals[i * p.free + j];
    }
    return columns.data;
}

// K = sum of outer products of the frame's rows of the face
void write_inverse(const Frame& whole, Index n, Index count, double* K) {
    const ConstMatrix frame = whole.sized(n).rows;
    fill(K, n * n, 0.0);
    for (Index k = count; k < n; ++k) {
        for (Index i = 0; i < n; ++i) add_scaled(frame[k][i], frame[k], n, K + i * n);
    }
}

// out = M x
void multiply(const double* M, const double* x, Index n, double* out) {
    for (Index i = 0; i < n; ++i) out[i] = dot(M + i * n, x, n);
}

// image = the slope, less its parts along normals that the frame's rows of active facets see
void write_image(const Facets& facets, const QpSolution& at, const double* slope, double* image) {
    const Index n = facets.free, count = at.num_active;
    const ConstMatrix frame = at.frame.sized(n).rows, upper = at.frame.sized(n).upper;
    copy(slope, n, image);
    for (Index k = count - 1; k >= 0; --k) {
        at.multiplier[k] = -dot(frame[k], image, n) / upper[k][k];
        add_scaled(at.multiplier[k], facets.normal(at.active[k]), n, image);
    }
}

}  // namespace

struct vb_probe {
    Arena kept, scratch;
    KnownModel lean;         // where no copies are wanted
    const KnownModel& known; // what counts were made on
    const Model& model;
    const FeasibleSet& set;
    Planner planner;
    Slope slope;
    DenseScratch dense;
    Vector hessian;          // for sparse features
    DirectionScratch direction;
    Point at;
    bool evaluated = false, sloped = false;

    vb_probe(const KnownModel& known_, bool factors, bool copies)
        : known(known_), model(copies ? known_.model : lean.model), set(copies ? known_.set : lean.set) {
        if (!copies) drop_copies();
        slope = make_slope(scratch, model, set);
        direction = make_direction_scratch(scratch, model, set);
        if (model.features.is_dense()) {
            dense = make_dense_scratch(scratch, model, set);
        } else {
            hessian = scratch.take<double>(set.num_squares);
        }
        if (!scratch.failed()) scratch.spoil();
        planner = make_planner(kept, model, factors_if(factors));
        at.theta = kept.take<double>(set.dimension).data;
        at.p = kept.take<double>(model.num_transitions).data;
        at.policy = kept.take<Index>(model.num_states).data;
        at.V = kept.take<double>(model.num_states).data;
        at.lu = make_factors(kept, planner);
    }

    bool failed() const { return kept.failed() || scratch.failed() || lean.arena.failed(); }
    Problem problem(const Objective& objective) const { return {model, set, objective}; }
    double precision() const { return sweep_precision(model.discount); }

private:
    void drop_copies() {
        View<Block> blocks = lean.arena.take<Block>(known.set.num_blocks);
        if (lean.arena.failed()) return;
        copy(known.set.blocks, blocks.size, blocks.data);
        for (Block& block : blocks) block.facets.by_axis = nullptr;
        lean.model = known.model;
        lean.model.features.by_coordinate = lean.model.features.projected = nullptr;
        lean.set = known.set;
        lean.set.blocks = blocks.data;
    }
};

namespace {

bool policy_fits(const vb_probe& probe) {
    return all_within(probe.at.policy, probe.model.num_states, probe.model.num_actions);
}

}  // namespace

extern "C" {

vb_status vb_part_solve_program(vb_part_program* program) {
    if (program == nullptr || !fits(*program)) return VB_BAD_ARGUMENT;
    vb_part_program& p = *program;
    Arena arena, scratch;
    QpWork work = make_qp_work(scratch, p.free + p.room, p.facets + p.room);
    const Frame frame = make_frame(scratch, p.free + p.room);
    const Facets facets{p.facets, p.free, p.normals, turned(p, arena), nullptr};
    if (arena.failed() || scratch.failed()) return VB_OUT_OF_MEMORY;
    scratch.spoil();
    QpSolution solution{p.d, p.active, p.multiplier, p.num_active, frame};
    if (p.before_B != nullptr && p.before_g != nullptr) {
        const QpStatus before = solve_qp({{p.before_B, p.free, p.free}, p.before_g, facets, p.slack}, solution, work);
        solution.framed = before == QpStatus::solved;
    }
    const QpStatus status = solve_qp({{p.B, p.free, p.free}, p.g, facets, p.slack}, solution, work);
    p.num_active = solution.num_active;
    p.turns = solution.turns;
    return code_of(status);
}

vb_status vb_part_learn(vb_part_program* program, const double* slope, const double* shown, double* K, double* step) {
    if (program == nullptr || !fits(*program) || !slope || !shown || !K || !step) return VB_BAD_ARGUMENT;
    const vb_part_program& p = *program;
    const Index n = p.free;
    Arena arena;
    QpWork work = make_qp_work(arena, n, p.facets);
    const Frame frame = make_frame(arena, n);
    Vector image = arena.take<double>(n), change = arena.take<double>(n), scratch = arena.take<double>(n);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    arena.spoil();
    const Facets facets{p.facets, n, p.normals, nullptr, nullptr};
    QpSolution solution{p.d, p.active, p.multiplier, p.num_active, frame};
    const QpStatus status = solve_qp({{p.B, n, n}, p.g, facets, p.slack}, solution, work);
    program->num_active = solution.num_active;
    if (status != QpStatus::solved) return code_of(status);
    write_inverse(frame, n, solution.num_active, K);
    write_image(facets, solution, slope, image.data);
    multiply(K, slope, n, step);
    multiply(shown, step, n, change.data);
    const bool learnt = learn({step, image.data, change.data}, n, scratch.data, frame);
    write_inverse(frame, n, solution.num_active, K + n * n);
    return learnt ? VB_OK : VB_NOT_CONVEX;
}

vb_status vb_part_cholesky(int64_t n, const double* matrix, double* lower, double* inverse) {
    if (n < 1 || matrix == nullptr || lower == nullptr || inverse == nullptr) return VB_BAD_ARGUMENT;
    if (!cholesky({matrix, n, n}, {lower, n, n})) return VB_NOT_CONVEX;
    invert_lower({lower, n, n}, {inverse, n, n});
    return VB_OK;
}

vb_status vb_part_logs(int64_t count, const double* x, double* out) {
    if (count < 0 || !is_given(x, count) || !is_given(out, count)) return VB_BAD_ARGUMENT;
    for (Index i = 0; i < count; ++i) out[i] = log_of(x[i]);
    return VB_OK;
}

vb_status vb_part_weighted_log_sum(int64_t count, const double* weight, const double* x, double* sum) {
    if (count < 0 || !is_given(weight, count) || !is_given(x, count) || sum == nullptr) return VB_BAD_ARGUMENT;
    *sum = weighted_log_sum(weight, x, count);
    return VB_OK;
}

vb_status vb_part_probe_new(const vb_model* model, int32_t factors, int32_t copies, vb_probe** probe) {
    if (probe == nullptr) return VB_BAD_ARGUMENT;
    *probe = nullptr;
    if (model == nullptr) return VB_BAD_ARGUMENT;
    vb_probe* made = make_handle<vb_probe>(model->known, factors != 0, copies != 0);
    if (made == nullptr || made->failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *probe = made;
    return VB_OK;
}

void vb_part_probe_free(vb_probe* probe) { free_handle(probe); }

vb_status vb_part_probe_look(vb_probe* probe, vb_part_probe_view* view) {
    if (probe == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    const Slope& slope = probe->slope;
    *view = {probe->at.p,        probe->at.policy,         probe->at.V,
             slope.visits.data,  slope.in_theta.data,      slope.in_y.data,
             probe->dense.concave.data, probe->dense.bent.data, probe->hessian.data,
             probe->hessian.size};
    return VB_OK;
}

vb_status vb_part_probe_evaluate(vb_probe* probe, const vb_objective* objective, int32_t held, const double* theta,
                                 double* f) {
    Objective goal;
    if (probe == nullptr || theta == nullptr || f == nullptr || !policy_fits(*probe)) return VB_BAD_ARGUMENT;
    if (!read_objective(objective, probe->known, goal)) return VB_BAD_ARGUMENT;
    goal.held = held != 0;
    copy(theta, probe->set.dimension, probe->at.theta);
    *f = evaluate(probe->problem(goal), probe->at, probe->planner, probe->precision());
    probe->evaluated = *f > -kInfinity;
    probe->sloped = false;
    return VB_OK;
}

vb_status vb_part_probe_slope(vb_probe* probe, const vb_objective* objective) {
    Objective goal;
    if (probe == nullptr || !probe->evaluated || !policy_fits(*probe)) return VB_BAD_ARGUMENT;
    if (!read_objective(objective, probe->known, goal)) return VB_BAD_ARGUMENT;
    probe->slope.has_visits = false;
    find_slope(probe->problem(goal), probe->at, probe->planner, probe->precision(), probe->slope);
    probe->sloped = goal.bias > 0.0;
    return VB_OK;
}

vb_status vb_part_probe_curvature(vb_probe* probe, const vb_objective* objective) {
    Objective goal;
    if (probe == nullptr || !probe->evaluated || !policy_fits(*probe)) return VB_BAD_ARGUMENT;
    if (!read_objective(objective, probe->known, goal)) return VB_BAD_ARGUMENT;
    const Problem problem = probe->problem(goal);
    if (!probe->model.features.is_dense()) {
        find_block_hessians(problem, probe->at, probe->hessian.data);
        return VB_OK;
    }
    find_concave_curvature(problem, probe->at, probe->dense);
    if (probe->sloped) find_value_curvature(problem, probe->at, probe->slope.visits.data, probe->planner, probe->dense);
    return VB_OK;
}

vb_status vb_part_probe_multiply(vb_probe* probe, const double* v, double* out) {
    if (probe == nullptr || v == nullptr || out == nullptr || !probe->sloped || !policy_fits(*probe)) {
        return VB_BAD_ARGUMENT;
    }
    if (probe->at.lu.empty() || probe->model.features.is_dense()) return VB_BAD_ARGUMENT;
    const Problem problem = probe->problem({});
    multiply_value_hessian({problem, probe->at, probe->slope.visits.data}, v, out, probe->direction);
    return VB_OK;
}

vb_status vb_part_reduce(const vb_model* model, const double* g, double* out) {
    if (model == nullptr || g == nullptr || !is_given(out, model->known.set.num_free)) return VB_BAD_ARGUMENT;
    reduce(model->known.set, g, out);
    return VB_OK;
}

vb_status vb_part_reduce_hessian(const vb_model* model, int64_t block, const double* hessian, double* B) {
    if (model == nullptr || hessian == nullptr || block < 0 || block >= model->known.set.num_blocks) return VB_BAD_ARGUMENT;
    const FeasibleSet& set = model->known.set;
    const Block& own = set.blocks[block];
    if (!is_given(B, own.num_free)) return VB_BAD_ARGUMENT;
    Arena arena;
    Vector half = arena.take<double>(set.most_coordinates * set.most_free);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    arena.spoil();
    reduce_hessian(own, hessian, half.data, {B, own.num_free, own.num_free});
    return VB_OK;
}

}  // extern "C"
