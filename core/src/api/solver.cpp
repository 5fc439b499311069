// The solver, as C sees it.
#include "climbing/maximiser.hpp"

#include "api/checks.hpp"
#include "api/handle.hpp"
#include "api/objective.hpp"
#include "common/tuning.hpp"

using namespace vb;

struct vb_solver {
    Maximiser maximiser;

    vb_solver(const KnownModel& known, Index places, Method method) : maximiser(known, places, method) {}
    explicit vb_solver(Maximiser& host) : maximiser(host) {}
};

namespace {

template <class Work>
vb_status run(vb_solver* solver, const vb_objective* given, Work work) {
    Objective objective;
    if (solver == nullptr || !read_objective(given, solver->maximiser.known, objective)) return VB_BAD_ARGUMENT;
    work(solver->maximiser, objective);
    return solver->maximiser.pool.status[0];
}

bool is_theta(const vb_solver* solver, const double* theta) {
    return solver != nullptr && theta != nullptr && all_finite(theta, solver->maximiser.known.set.dimension);
}

bool are_starts(const Maximiser& maximiser, const vb_starts& given) {
    const Index free = maximiser.known.set.num_free;
    if (given.num_fixed < 0 || given.num_fixed > tuning.limit_starts || given.num_pairs < 0) return false;
    const Index numbers = given.num_fixed * free;
    if (!is_given(given.fixed, numbers) || !is_given(given.pairs, given.num_pairs)) return false;
    if (!all_within(given.pairs, given.num_pairs, maximiser.known.model.num_pairs)) return false;
    return all_finite(given.fixed, numbers) && (given.best == nullptr || all_finite(given.best, free));
}

}  // namespace

extern "C" {

vb_status vb_solver_new(const vb_model* model, int64_t places, int32_t factors, vb_solver** solver) {
    if (solver == nullptr) return VB_BAD_ARGUMENT;
    *solver = nullptr;
    if (model == nullptr || places < 1 || places > tuning.limit_places) return VB_BAD_ARGUMENT;
    if (factors != 0 && model->known.model.num_states > tuning.limit_factored) return VB_OUT_OF_MEMORY;
    vb_solver* made = make_handle<vb_solver>(model->known, places, factors_if(factors != 0));
    if (made == nullptr || made->maximiser.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *solver = made;
    return VB_OK;
}

vb_status vb_solver_new_beside(vb_solver* host, vb_solver** solver) {
    if (solver == nullptr) return VB_BAD_ARGUMENT;
    *solver = nullptr;
    if (host == nullptr) return VB_BAD_ARGUMENT;
    vb_solver* made = make_handle<vb_solver>(host->maximiser);
    if (made == nullptr || made->maximiser.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *solver = made;
    return VB_OK;
}

void vb_solver_free(vb_solver* solver) { free_handle(solver); }

vb_status vb_solver_set_starts(vb_solver* solver, const vb_starts* given) {
    if (solver == nullptr || given == nullptr) return VB_BAD_ARGUMENT;
    const KnownModel& known = solver->maximiser.known;
    Workshop& own = solver->maximiser.shop;
    const Index free = known.set.num_free;
    const bool has_starts = own.starts.between.rows > 0;
    if (has_starts || !are_starts(solver->maximiser, *given)) return VB_BAD_ARGUMENT;
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
    return run(solver, objective, [](Maximiser& own, const Objective& goal) { climb(own, goal); });
}

vb_status vb_solver_search(vb_solver* solver, const vb_objective* objective) {
    return run(solver, objective, [](Maximiser& own, const Objective& goal) { search(own, goal); });
}

vb_status vb_solver_follow(vb_solver* solver, const vb_objective* objective) {
    return run(solver, objective, [](Maximiser& own, const Objective& goal) { follow(own, goal); });
}

vb_status vb_solver_climb_from_few(vb_solver* solver, const vb_objective* objective) {
    return run(solver, objective, [](Maximiser& own, const Objective& goal) { climb_from_few(own, goal); });
}

vb_status vb_solver_add_start(vb_solver* solver, const vb_objective* objective, const double* theta) {
    if (!is_theta(solver, theta)) return VB_BAD_ARGUMENT;
    return run(solver, objective, [=](Maximiser& own, const Objective& goal) { add_start(own, goal, theta); });
}

vb_status vb_solver_join(vb_solver* solver, const vb_objective* objective, const vb_solver* other) {
    if (solver == nullptr || other == nullptr || &solver->maximiser.known != &other->maximiser.known) return VB_BAD_ARGUMENT;
    return run(solver, objective, [=](Maximiser& own, const Objective& goal) { join(own, goal, other->maximiser); });
}

vb_status vb_solver_stand_at(vb_solver* solver, const double* theta) {
    if (!is_theta(solver, theta)) return VB_BAD_ARGUMENT;
    stand_at(solver->maximiser, theta);
    return VB_OK;
}

vb_status vb_solver_plan(vb_solver* solver) {
    if (solver == nullptr) return VB_BAD_ARGUMENT;
    plan_at_incumbent(solver->maximiser);
    return VB_OK;
}

vb_status vb_solver_restore(vb_solver* solver, int64_t size, int64_t turn) {
    if (solver == nullptr) return VB_BAD_ARGUMENT;
    return code(restore(solver->maximiser, size, turn));
}

vb_status vb_solver_look(vb_solver* solver, vb_solver_view* view) {
    if (solver == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    Pool& pool = solver->maximiser.pool;
    *view = {pool.y.data,         pool.theta.data,      pool.V.data,         pool.policy.data,
             pool.active.data,    pool.num_active.data, pool.result.data,    pool.status.data,
             pool.iterations.data, pool.evaluated.data, pool.factored.data,  pool.factors.data,
             pool.factors.cols,   pool.size,            solver->maximiser.turn, pool.climbs};
    return VB_OK;
}

}  // extern "C"
