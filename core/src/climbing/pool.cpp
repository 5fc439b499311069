#include "climbing/pool.hpp"

#include "climbing/climb.hpp"
#include "common/clock.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

double objective_at(const Pool& pool, Index k) { return pool.result[k][0]; }

bool better(double reached, double before) { return reached > before + tuning.pool_tie * (1.0 + vb::fabs(before)); }

void copy_place(Pool& pool, Index from, Index to) {
    copy(pool.y[from], pool.y.cols, pool.y[to]);
    copy(pool.theta[from], pool.theta.cols, pool.theta[to]);
    copy(pool.V[from], pool.V.cols, pool.V[to]);
    copy(pool.policy[from], pool.policy.cols, pool.policy[to]);
    copy(pool.active[from], pool.active.cols, pool.active[to]);
    copy(pool.num_active[from], pool.num_active.cols, pool.num_active[to]);
    copy(pool.result[from], pool.result.cols, pool.result[to]);
    pool.status[to] = pool.status[from];
    pool.iterations[to] = pool.iterations[from];
    pool.factored[to] = pool.factored[from];
    if (pool.factored[from]) copy(pool.factors[from], pool.factors.cols, pool.factors[to]);
    pool.abandoned[to] = pool.abandoned[from];
    pool.evaluated[to] = 0;
    if (!pool.own_evaluations || !pool.evaluated[from]) return;
    const Index states = pool.V.cols, factors = pool.lu.empty() ? 0 : states * states;
    copy(pool.p[from], pool.p.cols, pool.p[to]);
    copy(pool.lu.data + from * factors, factors, pool.lu.data + to * factors);
    pool.evaluated[to] = 1;
}

bool same_point(const Pool& pool, Index j, Index k) {
    const double f = objective_at(pool, j);
    if (vb::fabs(f - objective_at(pool, k)) > tuning.pool_same_objective * (1.0 + vb::fabs(f))) return false;
    double size = 1.0, distance = 0.0;
    for (Index i = 0; i < pool.y.cols; ++i) {
        size = larger(size, vb::fabs(pool.y[j][i]));
        distance = larger(distance, vb::fabs(pool.y[j][i] - pool.y[k][i]));
    }
    return distance <= tuning.pool_same_point * size;
}

// The place with the least objective besides the incumbent's.
Index worst_place(const Pool& pool) {
    Index worst = 0;
    for (Index k = 1; k < pool.size; ++k) {
        if (worst == 0 || objective_at(pool, k) < objective_at(pool, worst)) worst = k;
    }
    return worst;
}

// Takes the scratch place into the pool unless it is known.
void admit(Pool& pool) {
    const Index scratch = pool.places;
    if (pool.abandoned[scratch]) return;
    const double reached = objective_at(pool, scratch);
    for (Index k = 0; k < pool.size; ++k) {
        if (!same_point(pool, k, scratch)) continue;
        if (better(reached, objective_at(pool, k))) copy_place(pool, scratch, k);
        return;
    }
    if (pool.size < scratch) {
        copy_place(pool, scratch, pool.size++);
    } else if (pool.size == 1) {
        if (better(reached, objective_at(pool, 0))) copy_place(pool, scratch, 0);
    } else if (const Index worst = worst_place(pool); reached > objective_at(pool, worst)) {
        copy_place(pool, scratch, worst);
    }
}

// Puts the best place first; the incumbent stays unless beaten by more than a tie.
void crown(Pool& pool) {
    Index best = 0;
    for (Index k = 1; k < pool.size; ++k) {
        const double f = objective_at(pool, k);
        if (better(f, objective_at(pool, 0)) && (best == 0 || better(f, objective_at(pool, best)))) best = k;
    }
    if (best == 0) return;
    copy_place(pool, 0, pool.places);
    copy_place(pool, best, 0);
    copy_place(pool, pool.places, best);
}

// Drops places whose climb was given up.
void drop_abandoned(Pool& pool) {
    for (Index k = 1; k < pool.size;) {
        if (!pool.abandoned[k]) {
            ++k;
        } else if (--pool.size > k) {
            copy_place(pool, pool.size, k);
        }
    }
}

// Drops places that climbed to a maximum which an earlier one holds.
void merge(Pool& pool) {
    for (Index k = 1; k < pool.size;) {
        bool held = false;
        for (Index j = 0; j < k && !held; ++j) held = same_point(pool, j, k);
        if (!held) {
            ++k;
        } else if (--pool.size > k) {
            copy_place(pool, pool.size, k);
        }
    }
}

// Where p and factors are shared, they belong to one place at a time.
void move_in(Pool& pool, Index k) {
    if (pool.own_evaluations) return;
    Resident& resident = *pool.resident;
    if (resident.evaluated == pool.evaluated.data && resident.place == k) return;
    if (resident.evaluated != nullptr) resident.evaluated[resident.place] = 0;
    pool.evaluated[k] = 0;
    resident = {pool.evaluated.data, k};
}

}  // namespace

void move_out(Pool& pool) {
    if (pool.resident != nullptr && pool.resident->evaluated == pool.evaluated.data) *pool.resident = {nullptr, 0};
}

Room make_room(Arena& arena, const Model& model, Index places, Method method) {
    Room room;
    room.squares = method == Method::factors ? model.num_states * model.num_states : 0;
    room.own_evaluations = (places + 1) * (model.num_transitions + room.squares) <= tuning.pool_own_numbers;
    if (room.own_evaluations) return room;
    room.p = arena.matrix(1, model.num_transitions);
    room.lu = arena.take<double>(room.squares);
    room.resident = arena.take<Resident>(1);
    return room;
}

Pool make_pool(Arena& arena, const Problem& problem, Index places, const Room& room) {
    const Index n = places + 1, states = problem.model.num_states;
    Pool pool;
    pool.places = places;
    pool.own_evaluations = room.own_evaluations;
    pool.resident = room.resident.data;
    pool.y = arena.matrix(n, problem.set.num_free);
    pool.theta = arena.matrix(n, problem.set.dimension);
    pool.V = arena.matrix(n, states);
    pool.policy = {arena.take<Index>(n * states).data, n, states};
    pool.active = {arena.take<Index>(n * problem.set.num_free).data, n, problem.set.num_free};
    pool.num_active = {arena.take<Index>(n * problem.set.num_blocks).data, n, problem.set.num_blocks};
    pool.result = arena.matrix(n, 3);
    pool.status = arena.take<std::int32_t>(n);
    pool.iterations = arena.take<std::int32_t>(n);
    pool.evaluated = arena.take<std::uint8_t>(n);
    pool.factored = arena.take<std::uint8_t>(n);
    pool.abandoned = arena.take<std::uint8_t>(n);
    const Index free = problem.set.num_free;
    const bool keeps_frames = problem.model.features.is_dense() && free <= tuning.frame_kept_coordinates;
    if (keeps_frames) pool.factors = arena.matrix(n, 2 * free * free);
    pool.p = pool.own_evaluations ? arena.matrix(n, problem.model.num_transitions) : room.p;
    pool.lu = pool.own_evaluations ? arena.take<double>(n * room.squares) : room.lu;
    return pool;
}

Point point_at(Pool& pool, Frame spare, Index k) {
    move_in(pool, k);
    const Index states = pool.V.cols, at = pool.own_evaluations ? k : 0;
    Point point;
    point.y = pool.y[k];
    point.theta = pool.theta[k];
    point.p = pool.p[at];
    point.policy = pool.policy[k];
    point.V = pool.V[k];
    if (!pool.lu.empty()) point.lu = {pool.lu.data + at * states * states, states, states};
    point.active = pool.active[k];
    point.num_active = pool.num_active[k];
    point.evaluated = pool.evaluated[k] != 0;
    point.keeps_frame = !pool.factors.empty();
    point.frame = spare;
    if (point.keeps_frame) {
        const Index free = pool.y.cols;
        point.frame = {{pool.factors[k], free, free}, {pool.factors[k] + free * free, free, free}};
        point.factored = pool.factored[k] != 0;
    }
    return point;
}

namespace {

// What a climb from a place may be compared with: the maxima before it.
Rivals rivals_before(const Problem& problem, const Pool& pool, Index k, const Approach& approach) {
    if (problem.objective.bias == 0.0 || problem.objective.held) return {};
    Rivals rivals{pool.y, pool.result, {}, smaller(k, pool.size)};
    if (approach.compares_policies) rivals.policy = pool.policy;
    return rivals;
}

}  // namespace

void climb_at(const Search& search, Index k) {
    const auto& [problem, pool, tools] = search;
    Point point = point_at(pool, tools.program.frame, k);
    const Outcome outcome = climb(problem, point, tools, rivals_before(problem, pool, k, tools.approach));
    ++pool.climbs;
    pool.evaluated[k] = point.evaluated;
    pool.factored[k] = point.factored && point.keeps_frame;
    pool.result[k][0] = outcome.objective;
    pool.result[k][1] = outcome.residual;
    pool.result[k][2] = outcome.gap;
    pool.status[k] = static_cast<std::int32_t>(outcome.status);
    pool.iterations[k] = outcome.iterations;
    pool.abandoned[k] = outcome.abandoned;
}

void climb_all(const Search& search) {
    Pool& pool = search.pool;
    for (Index k = 0; k < pool.size; ++k) climb_at(search, k);
    drop_abandoned(pool);
    crown(pool);
    merge(pool);
}

void try_start(const Search& search, const double* y) {
    if (time_is_up()) return;
    Pool& pool = search.pool;
    const Index scratch = pool.places;
    copy(y, pool.y.cols, pool.y[scratch]);
    copy(pool.policy[0], pool.policy.cols, pool.policy[scratch]);
    copy(pool.V[0], pool.V.cols, pool.V[scratch]);
    fill<Index>(pool.num_active[scratch], pool.num_active.cols, 0);
    pool.evaluated[scratch] = pool.factored[scratch] = 0;
    climb_at(search, scratch);
    admit(pool);
    crown(pool);
}

void try_switch(const Search& search, Switch other) {
    if (time_is_up()) return;
    Pool& pool = search.pool;
    const Model& model = search.problem.model;
    if (pool.policy[0][other.state] == other.action) return;
    if (model.reward[model.pair(other.state, other.action)] == -kInfinity) return;  // not allowed
    const Index scratch = pool.places;
    copy_place(pool, 0, scratch);
    pool.policy[scratch][other.state] = other.action;
    pool.evaluated[scratch] = 0;
    if (!search.tools.approach.keeps_frame) pool.factored[scratch] = 0;
    Problem held = search.problem;
    held.objective.held = true;
    climb_at({held, pool, search.tools}, scratch);
    climb_at(search, scratch);
    admit(pool);
    crown(pool);
}

}  // namespace vb
