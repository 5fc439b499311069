#include "planning/direct.hpp"

#include "common/tuning.hpp"
#include "linalg/minimum_degree.hpp"
#include "planning/method.hpp"

namespace vb {

Direct make_direct(Arena& arena, const Model& model, bool full) {
    Direct direct;
    if (full) return direct;
    direct.arena = arena.inner();
    direct.at_once = direct_at_once(model);
    return direct;
}

namespace {

// The rows of the transitions of all pairs, which lie side by side, or of those of a policy.
SparseRows rows_of_all(Arena& scratch, const Model& model) {
    const Index states = model.num_states;
    const Indices begin = scratch.take_unfilled<Index>(states + 1);
    if (scratch.failed()) return {};
    for (Index s = 0; s <= states; ++s) begin[s] = model.pair_begin[model.pair(s, 0)];
    return {states, begin.data, begin.data + 1, model.successor};
}

SparseRows rows_of_policy(Arena& scratch, const Chain& chain) {
    const Index states = chain.num_states;
    const Indices begin = scratch.take_unfilled<Index>(states), end = scratch.take_unfilled<Index>(states);
    if (scratch.failed()) return {};
    for (Index s = 0; s < states; ++s) {
        begin[s] = chain.begin[s];
        end[s] = chain.end[s];
    }
    return {states, begin.data, end.data, chain.successor.data};
}

// The cheaper order: as the states are numbered, if that fills next to nothing, or by least degree. Its products are more
// than `most` where there is none.
EliminationTree find_order(Arena& scratch, const Graph& graph, double most) {
    const View<std::int32_t> order = scratch.take_unfilled<std::int32_t>(graph.n);
    EliminationTree none;
    none.products = kInfinity;
    if (scratch.failed()) return none;
    for (Index i = 0; i < graph.n; ++i) order[i] = static_cast<std::int32_t>(i);
    const EliminationTree numbered = find_tree(scratch, graph, order.data, most);
    if (scratch.failed()) return none;
    if (numbered.products <= tuning.order_numbered * static_cast<double>(graph.next.size + graph.n)) return numbered;
    if (!minimum_degree(scratch, graph, smaller(most, numbered.products), order.data)) return numbered;
    const EliminationTree least = find_tree(scratch, graph, order.data, most);
    if (scratch.failed()) return none;
    return least.products < numbered.products ? least : numbered;
}

// Lays out the factors for such rows; they stay empty where they would take too much.
void lay_out_factors(Direct& direct, const Model& model, Arena& scratch, const SparseRows& rows) {
    direct.factors = {};
    direct.sweeps = kInfinity;
    direct.made = false;
    if (scratch.failed()) return;
    const double most = most_products(model);
    const Graph graph = make_graph(scratch, rows);
    if (scratch.failed()) return;
    const EliminationTree tree = find_order(scratch, graph, most);
    if (tree.products > most) return;
    const Elimination plan = make_elimination(*direct.arena, scratch, graph, tree);
    if (scratch.failed() || direct.arena->failed()) return;
    const SparseFactors made = make_sparse_factors(*direct.arena, plan);
    if (direct.arena->failed()) return;
    direct.factors = made;
    direct.sweeps = sweeps_for_factors(model, tree.products, tree.entries);
}

// Room that does not depend on a policy.
void begin_anew(Direct& direct, const Chain& chain) {
    direct.arena->clear();
    direct.pair = direct.arena->take<std::int32_t>(chain.num_states);
    direct.weight = direct.arena->take_unfilled<double>(chain.weight.size);
    direct.residual = direct.arena->take<double>(chain.num_states);
    if (!direct.arena->failed()) fill(direct.pair.data, chain.num_states, std::int32_t{-1});
}

bool same_policy(const Direct& direct, const Chain& chain) {
    for (Index s = 0; s < chain.num_states; ++s) {
        if (direct.pair[s] != chain.pair[s]) return false;
    }
    return true;
}

bool same_weights(const Direct& direct, const Chain& chain) {
    for (Index s = 0; s < chain.num_states; ++s) {
        for (Index i = chain.begin[s]; i < chain.end[s]; ++i) {
            if (direct.weight[i] != chain.weight[i]) return false;
        }
    }
    return true;
}

void keep(Direct& direct, const Chain& chain) {
    for (Index s = 0; s < chain.num_states; ++s) {
        direct.pair[s] = chain.pair[s];
        for (Index i = chain.begin[s]; i < chain.end[s]; ++i) direct.weight[i] = chain.weight[i];
    }
}

}  // namespace

double cost_of_direct(Direct& direct, const Model& model, const Chain& chain) {
    if (direct.arena == nullptr || chain.full != nullptr) return kInfinity;
    Arena scratch;
    if (direct.ordered == Ordered::never) {
        begin_anew(direct, chain);
        if (direct.arena->failed()) return kInfinity;
        lay_out_factors(direct, model, scratch, rows_of_all(scratch, model));
        direct.ordered = direct.factors.empty() ? Ordered::each_policy : Ordered::all_pairs;
    }
    if (direct.ordered == Ordered::each_policy && !same_policy(direct, chain)) {
        begin_anew(direct, chain);
        if (direct.arena->failed()) return kInfinity;
        lay_out_factors(direct, model, scratch, rows_of_policy(scratch, chain));
        copy(chain.pair.data, chain.num_states, direct.pair.data);
    }
    return direct.sweeps;
}

void factor_chain(Direct& direct, const Chain& chain) {
    if (direct.made && same_policy(direct, chain) && same_weights(direct, chain)) return;
    keep(direct, chain);
    factor_difference(direct.factors, {chain.begin.data, chain.end.data, chain.successor.data, chain.weight.data});
    direct.made = true;
}

bool correct_values(const Direct& direct, const Chain& chain, const double* gain, double* V, double enough) {
    double* residual = direct.residual.data;
    chain_sweep(chain, gain, V, residual);
    if (change_between(V, residual, chain.num_states).spread() <= enough) return false;
    add_scaled(-1.0, V, chain.num_states, residual);
    sparse_solve(direct.factors, residual);
    add_scaled(1.0, residual, chain.num_states, V);
    return true;
}

void correct_visits(const Direct& direct, double* rest, double* w) {
    sparse_solve_transposed(direct.factors, rest);
    add_scaled(1.0, rest, direct.residual.size, w);
}

}  // namespace vb
