#include "planning/chain.hpp"

#include "common/lanes.hpp"
#include "common/tuning.hpp"

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

namespace {

// States for which something is looked at that holds for all on average: runs of neighbours, so that rows are read in order.
struct Sample {
    Index run;     // states in a run
    Index period;  // from one run to the next
};
Sample sample_of(const Chain& chain) { return chain.num_states < 2048 ? Sample{16, 64} : Sample{64, 1024}; }

// work(s) for every state of the sample; how many there are
template <class Work>
double for_sample(const Chain& chain, Work work) {
    const Sample sample = sample_of(chain);
    Index count = 0;
    for (Index first = 0; first < chain.num_states; first += sample.period) {
        const Index last = first + sample.run < chain.num_states ? first + sample.run : chain.num_states;
        for (Index s = first; s < last; ++s) work(s);
        count += last - first;
    }
    return static_cast<double>(count);
}

}  // namespace

void find_order(Chain& chain) {
    if (chain.full != nullptr) return;
    double forward = 0.0, backward = 0.0;
    Index next = 0;
    const double count = for_sample(chain, [&](Index s) {
        bool near = false;
        for (Index i = chain.begin[s]; i < chain.end[s]; ++i) {
            forward += chain.successor[i] > s ? chain.weight[i] : 0.0;
            backward += chain.successor[i] < s ? chain.weight[i] : 0.0;
            near = near || chain.successor[i] == s + 1 || chain.successor[i] == s - 1;
        }
        next += near;
    });
    chain.descending = forward > backward;
    chain.strands = 2.0 * static_cast<double>(next) > count ? tuning.sweep_strands : 1;
}

namespace {

// work(s) for every state in the chain's order, or from the last to the first: the strands take turns.
template <class Work>
void for_states(const Chain& chain, bool descending, Work work) {
    const Index states = chain.num_states, run = states / chain.strands, last = states - 1;
    if (descending) {
        for (Index k = chain.strands * run; k < states; ++k) work(last - k);
        for (Index k = 0; k < run; ++k) {
            for (Index first = 0; first < chain.strands * run; first += run) work(last - first - k);
        }
    } else {
        for (Index k = 0; k < run; ++k) {
            for (Index first = 0; first < chain.strands * run; first += run) work(first + k);
        }
        for (Index k = chain.strands * run; k < states; ++k) work(k);
    }
}

}  // namespace

double ordered_sweep(const Chain& chain, const double* gain, double* V) {
    double low = 0.0, high = 0.0, residual = 0.0;
    for_states(chain, chain.descending, [&](Index s) {
        const double value = gain[s] + chain.ahead(s, V), change = value - V[s];
        V[s] = value;
        low = smaller(low, change);
        high = larger(high, change);
    });
    const double count = for_sample(chain, [&](Index s) { residual += gain[s] + chain.ahead(s, V) - V[s]; });
    const double lift = residual / (count * (1.0 - chain.discount));
    for (Index s = 0; s < chain.num_states; ++s) V[s] += lift;
    return chain.discount * (high - low);
}

void push_rest(const Chain& chain, double* rest, double* w) {
    for_states(chain, !chain.descending, [&](Index s) {
        const double value = rest[s];
        if (value == 0.0) return;
        rest[s] = 0.0;
        w[s] += value;
        chain.spread_from(s, value, rest);
    });
}

void chain_sweep(const Chain& chain, const double* gain, const double* V, double* out) {
    for (Index s = 0; s < chain.num_states; ++s) out[s] = gain[s] + chain.ahead(s, V);
}

namespace {

static_assert(kTogether == kLanes);

// gain + gamma P_pi X in the row of one state
Lanes row_of_columns(const Chain& chain, Index s, const double* gain, const double* X) {
    Lanes total = load(gain + s * kTogether);
    for (Index i = chain.begin[s]; i < chain.end[s]; ++i) {
        total = fused(chain.weight[i], load(X + Index{chain.successor[i]} * kTogether), total);
    }
    return total;
}

}  // namespace

void ordered_sweep_columns(const Chain& chain, const double* gain, double* X, double* left) {
    Lanes low = {}, high = {}, residual = {};
    for_states(chain, chain.descending, [&](Index s) {
        const Lanes value = row_of_columns(chain, s, gain, X), change = value - load(X + s * kTogether);
        store(value, X + s * kTogether);
        low = least(change, low);
        high = greatest(change, high);
    });
    const double count = for_sample(chain, [&](Index s) {
        residual += row_of_columns(chain, s, gain, X) - load(X + s * kTogether);
    });
    const Lanes lift = residual / (count * (1.0 - chain.discount));
    for (Index s = 0; s < chain.num_states; ++s) store(load(X + s * kTogether) + lift, X + s * kTogether);
    store(chain.discount * (high - low), left);
}

void chain_sweep_columns(const Chain& chain, const double* gain, const double* X, double* out) {
    for (Index s = 0; s < chain.num_states; ++s) store(row_of_columns(chain, s, gain, X), out + s * kTogether);
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
