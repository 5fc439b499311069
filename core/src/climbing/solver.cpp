#include "climbing/solver.hpp"

#include "climbing/climb.hpp"
#include "common/checks.hpp"
#include "planning/planner.hpp"
#include "planning/policy_iteration.hpp"

namespace vb {

namespace {

constexpr Index kOften = 64;    // turns up to which a start and a policy are tried in each
constexpr Index kRarely = 512;  // turns up to which they take turns; from then on every second one is left out
constexpr Index kMany = 8;      // free coordinates from which on a start is many steps away from its maximum

// The maximiser of the part without value, from the interior point; in the scratch place.
void find_likely(Solver& solver, const Objective& objective) {
    Pool& pool = solver.pool;
    const Index scratch = pool.places;
    Objective concave = objective;
    concave.bias = 0.0;
    fill(pool.y[scratch], pool.y.cols, 0.0);
    fill<Index>(pool.num_active[scratch], pool.num_active.cols, 0);
    pool.evaluated[scratch] = pool.factored[scratch] = 0;
    climb_at(solver.problem(concave), pool, scratch, solver.work);
    copy(pool.y[scratch], pool.y.cols, solver.likely.data);
}

// One start and one policy more, in turn. The problem changes by ever less from call to call, so that looking again may
// become rarer, too. It is half as frequent where plans cost most, and where starts do: with many coordinates the way from one to
// its maximum is long. But not where several maxima are known, or so many policies that looking takes its time.
void explore(Solver& solver, const Problem& problem) {
    const bool alone = solver.pool.size == 1 && solver.starts.pairs.size <= kFewPairs;
    const bool costly = !solver.work.planner.factors() || (alone && solver.known.set.num_free >= kMany);
    const Index turn = solver.turn, cost = costly ? 2 : 1;
    const Index pause = cost * (turn < kOften ? 1 : turn < kRarely ? 2 : 4);  // from start to start; policies in between
    if (turn % pause == 0) try_one_start(problem, solver.pool, solver.starts, turn / pause, solver.work);
    if (turn % pause == pause / 2) try_one_switch(problem, solver.pool, solver.starts, turn / pause, solver.work);
}

bool active_facets_fit(const Solver& solver, Index k) {
    const FeasibleSet& set = solver.known.set;
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        const Index count = solver.pool.num_active[k][b];
        if (count < 0 || count > block.num_free) return false;
        for (Index i = 0; i < count; ++i) {
            const Index facet = solver.pool.active[k][block.first_free + i];
            if (facet < 0 || facet >= block.facets.count) return false;
        }
    }
    return true;
}

bool inside(const FeasibleSet& set, const double* y) {
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        for (Index i = 0; i < block.facets.count; ++i) {
            if (!(block.facets.value(i, block.facets.offsets, y + block.first_free) >= -1e-6)) return false;
        }
    }
    return true;
}

bool policy_fits(const Model& model, const Index* policy) {
    for (Index s = 0; s < model.num_states; ++s) {
        if (policy[s] < 0 || policy[s] >= model.num_actions) return false;
        if (model.reward[model.pair(s, policy[s])] == -kInfinity) return false;
    }
    return true;
}

// An objective may be infinite, where no start was found.
bool result_fits(const Pool& pool, Index k) {
    if (pool.status[k] < 0 || pool.status[k] > static_cast<std::int32_t>(Status::no_start)) return false;
    const double* result = pool.result[k];
    return !isnan(result[0]) && !isnan(result[1]) && !isnan(result[2]) && pool.iterations[k] >= 0;
}

// What the last quadratic program left, where it is said to be there.
bool factors_fit(const Pool& pool, Index k) {
    if (pool.factored[k] == 0) return true;
    return !pool.factors.empty() && all_finite(pool.factors[k], pool.factors.cols);
}

bool place_fits(const Solver& solver, Index k) {
    const Pool& pool = solver.pool;
    return all_finite(pool.y[k], pool.y.cols) && all_finite(pool.V[k], pool.V.cols) && result_fits(pool, k) &&
           policy_fits(solver.known.model, pool.policy[k]) && active_facets_fit(solver, k) &&
           factors_fit(pool, k) && inside(solver.known.set, pool.y[k]);
}

bool pool_fits(const Solver& solver, Index size) {
    if (size < 1 || size > solver.pool.places) return false;
    for (Index k = 0; k < size; ++k) {
        if (!place_fits(solver, k)) return false;
    }
    return true;
}

// As new: at the interior point alone.
void reset(Solver& solver) {
    Pool& pool = solver.pool;
    const Index n = pool.places + 1;
    fill(pool.y.data, n * pool.y.cols, 0.0);
    fill(pool.V.data, n * pool.V.cols, 0.0);
    fill(pool.result.data, n * pool.result.cols, 0.0);
    fill<Index>(pool.active.data, n * pool.active.cols, 0);
    fill<Index>(pool.num_active.data, n * pool.num_active.cols, 0);
    fill(pool.status.data, n, static_cast<std::int32_t>(Status::no_start));
    fill(pool.iterations.data, n, std::int32_t{0});
    fill(pool.evaluated.data, n, std::uint8_t{0});
    fill(pool.factored.data, n, std::uint8_t{0});
    for (Index k = 0; k < n; ++k) {
        copy(solver.known.set.center, solver.known.set.dimension, pool.theta[k]);
        first_allowed(solver.known.model, pool.policy[k]);
    }
    pool.size = 1;
    pool.resident = 0;
    solver.turn = 0;
}

// p, V and factors of a place that had them: the same numbers as before it was saved.
void evaluate_place(Solver& solver, Index k) {
    const bool evaluated = solver.pool.evaluated[k] != 0;
    assemble(solver.known.set, solver.pool.y[k], solver.pool.theta[k]);
    if (!evaluated) return;
    Point point = point_at(solver.pool, solver.work, k);
    probabilities(solver.known.model.features, point.theta, point.p);
    if (!point.lu.empty()) evaluate_by_factors(solver.work.planner, point.p, point.policy, point.V);
    solver.pool.evaluated[k] = 1;
}

}  // namespace

Solver::Solver(const KnownModel& known_, Index places, bool factors) : known(known_) {
    pool = make_pool(arena, problem({}), places, factors);
    work = make_workspace(arena, known.model, known.set, factors);
    likely = arena.take<double>(known.set.num_free);
    if (!factors && can_linearise(known.model, known.set)) {
        surrogate = make_surrogate(arena, known.model, known.set);
        work.surrogate = &surrogate;
    }
    if (!arena.failed()) reset(*this);
}

void climb(Solver& solver, const Objective& objective) {
    climb_all(solver.problem(objective), solver.pool, solver.work);
}

void search(Solver& solver, const Objective& objective) {
    const Problem problem = solver.problem(objective);
    climb_all(problem, solver.pool, solver.work);
    find_likely(solver, objective);
    const Index all = solver.starts.fixed.rows + 1 + kBetween;
    try_starts(problem, solver.pool, solver.starts, solver.likely.data, all, solver.work);
    for (int k = 0; k < 2; ++k) {  // the neighbours of a new incumbent have not been tried
        try_all_switches(problem, solver.pool, solver.starts, solver.work);
    }
}

void follow(Solver& solver, const Objective& objective) {
    const Problem problem = solver.problem(objective);
    climb_all(problem, solver.pool, solver.work);
    if (solver.turn == 0) {
        find_likely(solver, objective);
        try_starts(problem, solver.pool, solver.starts, solver.likely.data, kQuickStarts, solver.work);
        try_actions(problem, solver.pool, solver.work);
    } else {
        explore(solver, problem);
    }
    ++solver.turn;
}

void climb_from_few(Solver& solver, const Objective& objective) {
    const Problem problem = solver.problem(objective);
    solver.pool.size = 1;
    climb_all(problem, solver.pool, solver.work);
    find_likely(solver, objective);
    try_start(problem, solver.pool, solver.likely.data, solver.work);
    fill(solver.likely.data, solver.likely.size, 0.0);
    try_start(problem, solver.pool, solver.likely.data, solver.work);
}

void add_start(Solver& solver, const Objective& objective, const double* theta) {
    place(solver.known.set, theta, solver.likely.data, solver.work.gradient.data);
    try_start(solver.problem(objective), solver.pool, solver.likely.data, solver.work);
}

void stand_at(Solver& solver, const double* theta) {
    Pool& pool = solver.pool;
    place(solver.known.set, theta, pool.y[0], solver.work.gradient.data);
    assemble(solver.known.set, pool.y[0], pool.theta[0]);
    fill<Index>(pool.num_active[0], pool.num_active.cols, 0);
    pool.evaluated[0] = pool.factored[0] = 0;
    pool.size = 1;
}

void plan_at_incumbent(Solver& solver) {
    Point point = point_at(solver.pool, solver.work, 0);
    probabilities(solver.known.model.features, point.theta, point.p);
    optimal_value(solver.work.planner, point.p, point.policy, point.V);
    solver.pool.evaluated[0] = 1;
}

Status restore(Solver& solver, Index size, Index turn) {
    Pool& pool = solver.pool;
    if (turn < 0 || !pool_fits(solver, size)) {
        reset(solver);  // what was written must not stay: no climb would look at it again before using it
        return Status::bad_argument;
    }
    pool.size = size;
    solver.turn = turn;
    pool.resident = 0;
    for (Index k = pool.own_evaluations ? size - 1 : 0; k >= 0; --k) evaluate_place(solver, k);
    for (Index k = pool.own_evaluations ? size : 1; k < size; ++k) assemble(solver.known.set, pool.y[k], pool.theta[k]);
    return Status::ok;
}

}  // namespace vb
