// Counts and the solver, as C sees them.
#include "api/handle.hpp"
#include "climbing/objective.hpp"
#include "climbing/solver.hpp"

using namespace vb;

struct vb_counts {
    const Model& model;
    Arena arena;
    Counts counts;

    explicit vb_counts(const KnownModel& known) : model(known.model), counts(make_counts(arena, known.model)) {}
};

struct vb_solver {
    Solver solver;

    vb_solver(const KnownModel& known, Index places, bool factors) : solver(known, places, factors) {}
};

namespace {

bool read(const vb_solver* solver, const vb_objective* given, Objective& objective) {
    if (solver == nullptr || given == nullptr || given->counts == nullptr) return false;
    if (&given->counts->model != &solver->solver.known.model) return false;
    if (!(vb::isfinite(given->ridge) && given->ridge >= 0.0 && vb::isfinite(given->bias) && given->bias >= 0.0)) {
        return false;
    }
    if (given->state < 0 || given->state >= solver->solver.known.model.num_states) return false;
    const Counts& counts = given->counts->counts;
    objective.counts = counts.value.data;
    objective.observed = counts.observed.data;
    objective.num_observed = counts.num_observed;
    objective.linear = given->linear;
    objective.ridge = given->ridge;
    objective.bias = given->bias;
    objective.state = given->state;
    return true;
}

template <class Work>
vb_status run(vb_solver* solver, const vb_objective* given, Work work) {
    Objective objective;
    if (!read(solver, given, objective)) return VB_BAD_ARGUMENT;
    work(solver->solver, objective);
    return solver->solver.pool.status[0];
}

}  // namespace

extern "C" {

vb_status vb_counts_new(const vb_model* model, const uint8_t* possible, vb_counts** counts) {
    if (model == nullptr || possible == nullptr || counts == nullptr) return VB_BAD_ARGUMENT;
    *counts = nullptr;
    vb_counts* made = make_handle<vb_counts>(model->known);
    if (made == nullptr || made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    copy(possible, model->known.model.num_transitions, made->counts.possible.data);
    *counts = made;
    return VB_OK;
}

void vb_counts_free(vb_counts* counts) { free_handle(counts); }

int64_t vb_counts_add(vb_counts* counts, int64_t state, int64_t action, int64_t next_state, int64_t times) {
    const Model& model = counts->model;
    if (state < 0 || state >= model.num_states) return VB_BAD_STATE;
    if (action < 0 || action >= model.num_actions) return VB_BAD_ACTION;
    if (next_state < 0 || next_state >= model.num_states) return VB_BAD_NEXT_STATE;
    const Index i = find_transition(model, model.pair(state, action), next_state);
    if (i < 0 || !counts->counts.possible[i]) return VB_IMPOSSIBLE;
    add_count(counts->counts, i, times);
    return i;
}

vb_status vb_counts_load(vb_counts* counts, const double* values, const int64_t* observed, int64_t num_observed) {
    Counts& own = counts->counts;
    if (num_observed < 0 || num_observed > own.observed.size) return VB_BAD_ARGUMENT;
    double total = 0.0, seen = 0.0;
    for (Index i = 0; i < own.value.size; ++i) {
        if (!(values[i] >= 0.0) || !vb::isfinite(values[i])) return VB_BAD_ARGUMENT;
        if (values[i] > 0.0 && !own.possible[i]) return VB_BAD_ARGUMENT;
        total += values[i];
    }
    copy(values, own.value.size, own.value.data);
    for (Index k = 0; k < num_observed; ++k) {
        const Index i = observed[k];
        // Each once: what was taken is marked by its sign until all are seen.
        if (i < 0 || i >= own.value.size || !(own.value[i] > 0.0)) break;
        seen += own.value[i];
        own.value[i] = -own.value[i];
        own.observed[k] = i;
    }
    copy(values, own.value.size, own.value.data);
    if (seen != total) {
        fill(own.value.data, own.value.size, 0.0);
        own.num_observed = own.total = 0;
        return VB_BAD_ARGUMENT;
    }
    own.num_observed = num_observed;
    own.total = static_cast<Index>(total);
    return VB_OK;
}

void vb_counts_fields(vb_counts* counts, vb_counts_view* view) {
    Counts& own = counts->counts;
    *view = {own.value.data, own.observed.data, own.num_observed, own.total};
}

vb_status vb_solver_new(const vb_model* model, int64_t places, int32_t factors, vb_solver** solver) {
    if (model == nullptr || solver == nullptr || places < 1 || places > 1000) return VB_BAD_ARGUMENT;
    *solver = nullptr;
    vb_solver* made = make_handle<vb_solver>(model->known, places, factors != 0);
    if (made == nullptr || made->solver.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *solver = made;
    return VB_OK;
}

void vb_solver_free(vb_solver* solver) { free_handle(solver); }

vb_status vb_solver_set_starts(vb_solver* solver, const vb_starts* given) {
    Solver& own = solver->solver;
    const Model& model = own.known.model;
    const Index free = own.known.set.num_free;
    if (given->num_fixed < 0 || given->num_pairs < 0) return VB_BAD_ARGUMENT;
    for (Index i = 0; i < given->num_pairs; ++i) {
        if (given->pairs[i] < 0 || given->pairs[i] >= model.num_pairs) return VB_BAD_ARGUMENT;
    }
    Matrix fixed = own.starts_arena.matrix(given->num_fixed, free), between = own.starts_arena.matrix(kBetween, free);
    Vector best = own.starts_arena.take<double>(given->best == nullptr ? 0 : free);
    Indices pairs = own.starts_arena.take<Index>(given->num_pairs);
    if (own.starts_arena.failed()) return VB_OUT_OF_MEMORY;
    copy(given->fixed, given->num_fixed * free, fixed.data);
    copy(given->best, best.size, best.data);
    copy(given->pairs, given->num_pairs, pairs.data);
    own.starts = {fixed, best, pairs, between};
    return VB_OK;
}

vb_status vb_solver_climb(vb_solver* solver, const vb_objective* objective) {
    return run(solver, objective, [](Solver& own, const Objective& goal) { climb(own, goal); });
}

vb_status vb_solver_search(vb_solver* solver, const vb_objective* objective) {
    return run(solver, objective, [](Solver& own, const Objective& goal) { search(own, goal); });
}

vb_status vb_solver_follow(vb_solver* solver, const vb_objective* objective) {
    return run(solver, objective, [](Solver& own, const Objective& goal) { follow(own, goal); });
}

vb_status vb_solver_climb_from_few(vb_solver* solver, const vb_objective* objective) {
    return run(solver, objective, [](Solver& own, const Objective& goal) { climb_from_few(own, goal); });
}

vb_status vb_solver_add_start(vb_solver* solver, const vb_objective* objective, const double* theta) {
    return run(solver, objective, [=](Solver& own, const Objective& goal) { add_start(own, goal, theta); });
}

void vb_solver_stand_at(vb_solver* solver, const double* theta) { stand_at(solver->solver, theta); }

void vb_solver_plan(vb_solver* solver) { plan_at_incumbent(solver->solver); }

vb_status vb_solver_restore(vb_solver* solver, int64_t size, int64_t turn) {
    return code(restore(solver->solver, size, turn));
}

void vb_solver_fields(vb_solver* solver, vb_solver_view* view) {
    Pool& pool = solver->solver.pool;
    *view = {pool.y.data,          pool.theta.data,  pool.V.data,         pool.policy.data,    pool.active.data,
             pool.num_active.data, pool.result.data, pool.status.data,  pool.iterations.data, pool.evaluated.data,
             pool.factored.data, pool.factors.data,    pool.factors.cols,
             pool.size,            solver->solver.turn};
}

}  // extern "C"
