// Linear systems and slow chains.
#include "api/handle.hpp"
#include "api/planning.hpp"
#include "linalg/lu.hpp"
#include "linalg/minimum_degree.hpp"
#include "linalg/sparse_lu.hpp"
#include "parts.h"
#include "planning/bellman.hpp"
#include "planning/slow_chain.hpp"
#include "planning/sweeps.hpp"

using namespace vb;

extern "C" {

vb_status vb_part_lu_factor(int64_t n, double* matrix) {
    if (n < 1 || matrix == nullptr) return VB_BAD_ARGUMENT;
    lu_factor({matrix, n, n});
    return VB_OK;
}

vb_status vb_part_lu_solve(int64_t n, const double* lu, int32_t transposed, double* x) {
    if (n < 1 || lu == nullptr || x == nullptr) return VB_BAD_ARGUMENT;
    if (transposed != 0) {
        lu_solve_transposed({lu, n, n}, x);
    } else {
        lu_solve({lu, n, n}, x);
    }
    return VB_OK;
}

vb_status vb_part_lu_solve_columns(int64_t n, const double* lu, int64_t columns, double* X) {
    if (n < 1 || columns < 1 || lu == nullptr || X == nullptr) return VB_BAD_ARGUMENT;
    lu_solve_columns({lu, n, n}, {X, n, columns});
    return VB_OK;
}

vb_status vb_part_sparse_solve(vb_part_sparse* system, double* x) {
    if (system->n < 1 || system->order == nullptr || x == nullptr) return VB_BAD_ARGUMENT;
    Arena arena;
    const Index n = system->n;
    const Indices begin = arena.take<Index>(n), end = arena.take<Index>(n);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    for (Index i = 0; i < n; ++i) {
        begin[i] = system->begin[i];
        end[i] = system->end[i];
        system->order[i] = static_cast<std::int32_t>(i);
    }
    const Graph graph = make_graph(arena, {n, begin.data, end.data, system->column});
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    if (system->least_degree != 0 && !minimum_degree(arena, graph, system->most, system->order)) return VB_STALLED;
    const EliminationTree tree = find_tree(arena, graph, system->order, system->most);
    system->products = tree.products;
    system->entries = tree.entries;
    if (tree.products > system->most) return VB_STALLED;
    const Elimination plan = make_elimination(arena, arena, graph, tree);
    SparseFactors factors = make_sparse_factors(arena, plan);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    copy(plan.order.data, n, system->order);
    factor_difference(factors, {system->begin, system->end, system->column, system->value});
    if (system->transposed != 0) {
        sparse_solve_transposed(factors, x);
    } else {
        sparse_solve(factors, x);
    }
    return VB_OK;
}

vb_status vb_part_visits(vb_planner* planner, int64_t state, double tolerance) {
    if (planner->planner.factors() || !planner->is_state(state) || !planner->fits()) return VB_BAD_ARGUMENT;
    if (!(tolerance > 0.0)) return VB_BAD_ARGUMENT;
    occupancy_by_sweeps(planner->planner, planner->valuation(), {state, tolerance}, planner->at.visits);
    return VB_OK;
}

vb_status vb_part_slow_chain(vb_planner* planner, int64_t state, double enough) {
    if (planner->planner.factors() || !planner->fits() || !(enough > 0.0)) return VB_BAD_ARGUMENT;
    if (state != -1 && !planner->is_state(state)) return VB_BAD_ARGUMENT;
    Planner& at = planner->planner;
    begin_chain(at.chain, planner->at.p);
    follow(at.chain, *at.model, planner->at.p, expected_rewards(at, planner->at.p), planner->at.policy);
    if (state == -1) {
        const double* gain = at.chain.gain.data;
        return solve_slow_chain(at.chain, Side::values, gain, planner->at.V, enough, at.spare) ? VB_OK : VB_STALLED;
    }
    fill(at.rest.data, at.rest.size, 0.0);
    at.rest[state] = 1.0;
    double* w = planner->at.visits;
    return solve_slow_chain(at.chain, Side::visits, at.rest.data, w, enough, at.spare) ? VB_OK : VB_STALLED;
}

}  // extern "C"
