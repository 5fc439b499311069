#include "climbing/pool.hpp"

#include "climbing/climb.hpp"

namespace vb {

namespace {

constexpr double kTie = 1e-9;   // relative: objectives closer than this count as equal
constexpr double kSame = 1e-6;  // relative: points closer than this count as one
constexpr double kRough = 1e-3;  // residual at which a climb with a held policy ends: it is a start
constexpr Index kKeptCoordinates = 128;  // up to so many free coordinates the factors of the last program are kept
constexpr Index kOwnNumbers = 1 << 20;  // up to so many numbers each place keeps p and factors of its own

double objective_at(const Pool& pool, Index k) { return pool.result[k][0]; }

bool better(double reached, double known) { return reached > known + kTie * (1.0 + vb::fabs(known)); }

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
    if (vb::fabs(f - objective_at(pool, k)) > 1e-7 * (1.0 + vb::fabs(f))) return false;
    double size = 1.0, distance = 0.0;
    for (Index i = 0; i < pool.y.cols; ++i) {
        size = larger(size, vb::fabs(pool.y[j][i]));
        distance = larger(distance, vb::fabs(pool.y[j][i] - pool.y[k][i]));
    }
    return distance <= kSame * size;
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
        bool known = false;
        for (Index j = 0; j < k && !known; ++j) known = same_point(pool, j, k);
        if (!known) {
            ++k;
        } else if (--pool.size > k) {
            copy_place(pool, pool.size, k);
        }
    }
}

// Where p and factors are shared, they belong to one place at a time.
void move_in(Pool& pool, Index k) {
    if (pool.own_evaluations || pool.resident == k) return;
    pool.evaluated[pool.resident] = pool.evaluated[k] = 0;
    pool.resident = k;
}

}  // namespace

Pool make_pool(Arena& arena, const Problem& problem, Index places, bool factors) {
    const Index n = places + 1, states = problem.model.num_states, transitions = problem.model.num_transitions;
    const Index each = transitions + (factors ? states * states : 0);
    Pool pool;
    pool.places = places;
    pool.own_evaluations = n * each <= kOwnNumbers;
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
    if (problem.model.features.is_dense() && free <= kKeptCoordinates) pool.factors = arena.matrix(n, 2 * free * free);
    pool.p = arena.matrix(pool.own_evaluations ? n : 1, transitions);
    pool.lu = arena.take<double>(factors ? pool.p.rows * states * states : 0);
    return pool;
}

Point point_at(Pool& pool, Workspace& work, Index k) {
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
    if (!pool.factors.empty()) {
        const Index free = pool.y.cols;
        point.frame = {pool.factors[k], free, free};
        point.upper = {pool.factors[k] + free * free, free, free};
        point.factored = pool.factored[k] != 0;
        work.qp.frame = point.frame;
        work.qp.upper = point.upper;
    }
    work.planner.lu = point.lu;
    return point;
}

namespace {

// What a climb from a place may be compared with: the maxima before it. By sweeps, policies are not: there are too many of them
// for two to be the same.
Known known_before(const Problem& problem, const Pool& pool, Index k, const Workspace& work) {
    if (problem.objective.bias == 0.0 || problem.objective.held) return {};
    Known known{pool.y, pool.result, {}, k < pool.size ? k : pool.size};
    if (work.planner.factors()) known.policy = {pool.policy.data, pool.policy.rows, pool.policy.cols};
    return known;
}

}  // namespace

void climb_at(const Problem& problem, Pool& pool, Index k, Workspace& work) {
    Point point = point_at(pool, work, k);
    const Outcome outcome = climb(problem, point, work, known_before(problem, pool, k, work));
    ++pool.climbs;
    work.planner.precision = sweep_precision(problem.model.discount);
    work.planner.visits_known = false;
    if (double* own = pool.p[pool.own_evaluations ? k : 0]; point.p != own) {  // the line search exchanged them
        copy(point.p, pool.p.cols, own);
        work.trial_p.data = point.p;
    }
    pool.evaluated[k] = point.evaluated;
    pool.factored[k] = point.factored && !pool.factors.empty();
    pool.result[k][0] = outcome.objective;
    pool.result[k][1] = outcome.residual;
    pool.result[k][2] = outcome.gap;
    pool.status[k] = static_cast<std::int32_t>(outcome.status);
    pool.iterations[k] = outcome.iterations;
    pool.abandoned[k] = outcome.abandoned;
}

void climb_all(const Problem& problem, Pool& pool, Workspace& work) {
    for (Index k = 0; k < pool.size; ++k) climb_at(problem, pool, k, work);
    drop_abandoned(pool);
    crown(pool);
    merge(pool);
}

void try_start(const Problem& problem, Pool& pool, const double* y, Workspace& work) {
    const Index scratch = pool.places;
    copy(y, pool.y.cols, pool.y[scratch]);
    copy(pool.policy[0], pool.policy.cols, pool.policy[scratch]);
    copy(pool.V[0], pool.V.cols, pool.V[scratch]);
    fill<Index>(pool.num_active[scratch], pool.num_active.cols, 0);
    pool.evaluated[scratch] = pool.factored[scratch] = 0;
    climb_at(problem, pool, scratch, work);
    admit(pool);
    crown(pool);
}

void try_switch(const Problem& problem, Pool& pool, Switch other, Workspace& work) {
    if (pool.policy[0][other.state] == other.action) return;
    if (problem.model.reward[problem.model.pair(other.state, other.action)] == -kInfinity) return;  // not allowed
    const Index scratch = pool.places;
    copy_place(pool, 0, scratch);
    pool.policy[scratch][other.state] = other.action;
    pool.evaluated[scratch] = 0;
    if (!work.planner.factors()) pool.factored[scratch] = 0;  // otherwise those of the incumbent's last program serve here, too
    Problem held{problem.model, problem.set, problem.objective};
    held.objective.held = true;
    const double target = work.target;
    work.target = kRough;
    climb_at(held, pool, scratch, work);
    work.target = target;
    climb_at(problem, pool, scratch, work);
    admit(pool);
    crown(pool);
}

}  // namespace vb
