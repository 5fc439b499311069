#include "planning/chain.hpp"

#include "linalg/lanes.hpp"

namespace vb {

namespace {

Index longest_row(const Model& model, Index state) {
    Index most = 0;
    for (Index pair = model.pair(state, 0); pair < model.pair(state + 1, 0); ++pair) {
        most = larger(most, model.pair_begin[pair + 1] - model.pair_begin[pair]);
    }
    return most;
}

}  // namespace

Chain make_chain(Arena& arena, const Model& model, bool full) {
    Chain chain;
    const Index states = model.num_states;
    chain.num_states = states;
    chain.discount = model.discount;
    chain.pair = arena.take<std::int32_t>(states);
    chain.gain = arena.take<double>(states);
    if (full) return chain;
    chain.begin = arena.take<std::int32_t>(states);
    chain.end = arena.take<std::int32_t>(states);
    if (arena.failed()) return chain;
    Index room = 0;
    for (Index s = 0; s < states; ++s) {
        chain.begin[s] = chain.end[s] = static_cast<std::int32_t>(room);
        room += longest_row(model, s);
    }
    chain.successor = arena.take<std::int32_t>(room);
    chain.weight = arena.take<double>(room);
    return chain;
}

void begin_chain(Chain& chain, const double* p) {
    fill(chain.pair.data, chain.num_states, std::int32_t{-1});
    chain.full = chain.begin.empty() ? p : nullptr;
}

void follow(Chain& chain, const Model& model, const double* p, const double* reward, const Index* policy) {
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, policy[s]);
        if (chain.pair[s] == pair) continue;
        chain.pair[s] = static_cast<std::int32_t>(pair);
        chain.gain[s] = reward[pair];
        if (chain.full != nullptr) continue;
        std::int32_t at = chain.begin[s];
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i, ++at) {
            chain.successor[at] = model.successor[i];
            chain.weight[at] = model.discount * p[i];
        }
        chain.end[s] = at;
    }
}

void chain_sweep(const Chain& chain, const double* gain, const double* V, double* out) {
    for (Index s = 0; s < chain.num_states; ++s) out[s] = gain[s] + chain.ahead(s, V);
}

void chain_sweep_columns(const Chain& chain, const double* gain, const double* X, double* out) {
    static_assert(kTogether == kLanes);
    for (Index s = 0; s < chain.num_states; ++s) {
        Lanes total = load(gain + s * kTogether);
        if (chain.full != nullptr) {
            const double* row = chain.full_row(s);
            Lanes ahead = {};
            for (Index j = 0; j < chain.num_states; ++j) ahead += row[j] * load(X + j * kTogether);
            store(total + chain.discount * ahead, out + s * kTogether);
            continue;
        }
        for (Index i = chain.begin[s]; i < chain.end[s]; ++i) {
            total += chain.weight[i] * load(X + Index{chain.successor[i]} * kTogether);
        }
        store(total, out + s * kTogether);
    }
}

void add_following(const Chain& chain, const double* w, double* out) {
    for (Index s = 0; s < chain.num_states; ++s) {
        if (w[s] != 0.0) chain.spread_from(s, w[s], out);
    }
}

Range change_between(const double* before, const double* after, Index n) {
    Range range{kInfinity, -kInfinity};
    for (Index i = 0; i < n; ++i) {
        const double change = after[i] - before[i];
        range.low = smaller(range.low, change);
        range.high = larger(range.high, change);
    }
    return range;
}

}  // namespace vb
