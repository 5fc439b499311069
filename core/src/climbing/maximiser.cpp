#include "climbing/maximiser.hpp"

#include "climbing/climb.hpp"
#include "common/checks.hpp"
#include "common/tuning.hpp"
#include "planning/policy_iteration.hpp"

namespace vb {

namespace {

Search search_for(const Problem& problem, Maximiser& maximiser) { return {problem, maximiser.pool, maximiser.shop.tools}; }

// The maximiser of the part without value, from the interior point; in the scratch place.
void find_likely(Maximiser& maximiser, const Objective& objective) {
    Pool& pool = maximiser.pool;
    const Index scratch = pool.places;
    Objective concave = objective;
    concave.bias = 0.0;
    fill(pool.y[scratch], pool.y.cols, 0.0);
    fill<Index>(pool.num_active[scratch], pool.num_active.cols, 0);
    pool.evaluated[scratch] = pool.factored[scratch] = 0;
    const Problem problem = maximiser.problem(concave);
    climb_at(search_for(problem, maximiser), scratch);
    copy(pool.y[scratch], pool.y.cols, maximiser.shop.likely.data);
}

// One start and one policy more, in turn. The problem changes by ever less from call to call, so that looking again may
// become rarer, too. It is half as frequent where plans cost most, and where starts do: with many coordinates the way from one
// to its maximum is long. But not where several maxima were found, or where so many policies are near that looking takes its
// time.
void explore(const Maximiser& maximiser, const Search& search) {
    const bool alone = maximiser.pool.size == 1 && maximiser.shop.starts.pairs.size <= tuning.search_few_pairs;
    const bool far = maximiser.known.set.num_free >= tuning.search_far_coordinates;
    const Index turn = maximiser.turn, cost = maximiser.shop.tools.approach.plans_cost_most || (alone && far) ? 2 : 1;
    // From start to start; policies come in between.
    const Index pause = cost * (turn < tuning.search_often ? 1 : turn < tuning.search_rarely ? 2 : 4);
    if (turn % pause == 0) try_one_start(search, maximiser.shop.starts, turn / pause);
    if (turn % pause == pause / 2) try_one_switch(search, maximiser.shop.starts, turn / pause);
}

bool active_facets_fit(const Maximiser& maximiser, Index k) {
    const FeasibleSet& set = maximiser.known.set;
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        const Index count = maximiser.pool.num_active[k][b];
        if (count < 0 || count > block.num_free) return false;
        for (Index i = 0; i < count; ++i) {
            const Index facet = maximiser.pool.active[k][block.first_free + i];
            if (facet < 0 || facet >= block.facets.count) return false;
        }
    }
    return true;
}

bool inside(const FeasibleSet& set, const double* y) {
    for (Index b = 0; b < set.num_blocks; ++b) {
        const Block& block = set.blocks[b];
        for (Index i = 0; i < block.facets.count; ++i) {
            if (!(block.facets.value(i, block.facets.offsets, y + block.first_free) >= -tuning.pool_outside)) return false;
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
    if (pool.status[k] < 0 || pool.status[k] > static_cast<std::int32_t>(Status::out_of_time)) return false;
    const double* result = pool.result[k];
    return !isnan(result[0]) && !isnan(result[1]) && !isnan(result[2]) && pool.iterations[k] >= 0;
}

// What the last quadratic program left, where it is said to be there.
bool factors_fit(const Pool& pool, Index k) {
    if (pool.factored[k] == 0) return true;
    return !pool.factors.empty() && all_finite(pool.factors[k], pool.factors.cols);
}

bool place_fits(const Maximiser& maximiser, Index k) {
    const Pool& pool = maximiser.pool;
    return all_finite(pool.y[k], pool.y.cols) && all_finite(pool.V[k], pool.V.cols) && result_fits(pool, k) &&
           policy_fits(maximiser.known.model, pool.policy[k]) && active_facets_fit(maximiser, k) &&
           factors_fit(pool, k) && inside(maximiser.known.set, pool.y[k]);
}

bool pool_fits(const Maximiser& maximiser, Index size) {
    if (size < 1 || size > maximiser.pool.places) return false;
    for (Index k = 0; k < size; ++k) {
        if (!place_fits(maximiser, k)) return false;
    }
    return true;
}

// As new: at the interior point alone.
void reset(Maximiser& maximiser) {
    Pool& pool = maximiser.pool;
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
        copy(maximiser.known.set.center, maximiser.known.set.dimension, pool.theta[k]);
        first_allowed(maximiser.known.model, pool.policy[k]);
    }
    pool.size = 1;
    move_out(pool);
    maximiser.turn = 0;
}

// One maximum alone, that of another pool, with what is known there.
void stand_like(Pool& pool, const Pool& other) {
    copy(other.y[0], pool.y.cols, pool.y[0]);
    copy(other.theta[0], pool.theta.cols, pool.theta[0]);
    copy(other.V[0], pool.V.cols, pool.V[0]);
    copy(other.policy[0], pool.policy.cols, pool.policy[0]);
    fill<Index>(pool.num_active[0], pool.num_active.cols, 0);
    pool.evaluated[0] = pool.factored[0] = 0;
    pool.size = 1;
}

// p, V and factors of a place that had them: the same numbers as before it was saved.
void evaluate_place(Maximiser& maximiser, Index k) {
    const bool evaluated = maximiser.pool.evaluated[k] != 0;
    assemble(maximiser.known.set, maximiser.pool.y[k], maximiser.pool.theta[k]);
    if (!evaluated) return;
    Point point = point_at(maximiser.pool, maximiser.shop.tools.program.frame, k);
    probabilities(maximiser.known.model.features, point.theta, point.p);
    if (!point.lu.empty()) evaluate_by_factors(maximiser.shop.tools.planner, point.valuation());
    maximiser.pool.evaluated[k] = 1;
}

}  // namespace

Maximiser::Maximiser(const KnownModel& known_, Index places, Method method) : known(known_), shop(own) {
    own.tools = make_climber(own.arena, known.model, known.set, method);
    own.likely = own.arena.take<double>(known.set.num_free);
    own.shifted = own.arena.take<double>(known.set.dimension);
    if (own.tools.approach.plans_cost_most && can_linearise(known.model, known.set)) {
        own.surrogate = make_surrogate(own.arena, known.model, known.set);
        own.tools.surrogate = &own.surrogate;
    }
    own.room = make_room(own.arena, known.model, places, method);
    pool = make_pool(arena, problem({}), places, own.room);
    if (!failed()) reset(*this);
}

Maximiser::Maximiser(Maximiser& host) : known(host.known), shop(host.shop) {
    pool = make_pool(arena, problem({}), host.pool.places, shop.room);
    if (failed()) return;
    reset(*this);
    stand_like(pool, host.pool);
}

Maximiser::~Maximiser() { move_out(pool); }

void climb(Maximiser& maximiser, const Objective& objective) {
    const Problem problem = maximiser.problem(objective);
    climb_all(search_for(problem, maximiser));
}

void search(Maximiser& maximiser, const Objective& objective) {
    const Problem problem = maximiser.problem(objective);
    const Search search = search_for(problem, maximiser);
    climb_all(search);
    find_likely(maximiser, objective);
    const Index all = maximiser.shop.starts.fixed.rows + 1 + kBetween;
    try_starts(search, maximiser.shop.starts, maximiser.shop.likely.data, all);
    for (int k = 0; k < 2; ++k) {  // the neighbours of a new incumbent have not been tried
        try_all_switches(search, maximiser.shop.starts);
    }
}

void follow(Maximiser& maximiser, const Objective& objective) {
    const Problem problem = maximiser.problem(objective);
    const Search search = search_for(problem, maximiser);
    climb_all(search);
    if (maximiser.turn == 0) {
        find_likely(maximiser, objective);
        try_starts(search, maximiser.shop.starts, maximiser.shop.likely.data, tuning.search_quick);
        try_actions(search);
    } else {
        explore(maximiser, search);
    }
    ++maximiser.turn;
}

void climb_from_few(Maximiser& maximiser, const Objective& objective) {
    const Problem problem = maximiser.problem(objective);
    const Search search = search_for(problem, maximiser);
    maximiser.pool.size = 1;
    climb_all(search);
    find_likely(maximiser, objective);
    try_start(search, maximiser.shop.likely.data);
    fill(maximiser.shop.likely.data, maximiser.shop.likely.size, 0.0);
    try_start(search, maximiser.shop.likely.data);
}

void join(Maximiser& maximiser, const Objective& objective, const Maximiser& other) {
    stand_like(maximiser.pool, other.pool);
    climb(maximiser, objective);
    maximiser.turn = larger(maximiser.turn, Index{1});
}

void add_start(Maximiser& maximiser, const Objective& objective, const double* theta) {
    place(maximiser.known.set, theta, maximiser.shop.likely.data, maximiser.shop.shifted.data);
    const Problem problem = maximiser.problem(objective);
    try_start(search_for(problem, maximiser), maximiser.shop.likely.data);
}

void stand_at(Maximiser& maximiser, const double* theta) {
    Pool& pool = maximiser.pool;
    place(maximiser.known.set, theta, pool.y[0], maximiser.shop.shifted.data);
    assemble(maximiser.known.set, pool.y[0], pool.theta[0]);
    fill<Index>(pool.num_active[0], pool.num_active.cols, 0);
    pool.evaluated[0] = pool.factored[0] = 0;
    pool.size = 1;
}

void plan_at_incumbent(Maximiser& maximiser) {
    Point point = point_at(maximiser.pool, maximiser.shop.tools.program.frame, 0);
    probabilities(maximiser.known.model.features, point.theta, point.p);
    const double precision = sweep_precision(maximiser.known.model.discount);
    optimal_value(maximiser.shop.tools.planner, point.valuation(), precision);
    maximiser.pool.evaluated[0] = 1;
}

Status restore(Maximiser& maximiser, Index size, Index turn) {
    Pool& pool = maximiser.pool;
    if (turn < 0 || !pool_fits(maximiser, size)) {
        reset(maximiser);  // what was written must not stay: no climb would look at it again before using it
        return Status::bad_argument;
    }
    pool.size = size;
    maximiser.turn = turn;
    for (Index k = pool.own_evaluations ? size - 1 : 0; k >= 0; --k) evaluate_place(maximiser, k);
    for (Index k = pool.own_evaluations ? size : 1; k < size; ++k) assemble(maximiser.known.set, pool.y[k], pool.theta[k]);
    return Status::ok;
}

}  // namespace vb
