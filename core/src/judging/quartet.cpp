#include "judging/quartet.hpp"

#include "common/numbers.hpp"
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

// Transitions whose probabilities are kept: those of a policy, and half as many for rivals of its actions. None where it is as
// fast to find them again.
Index room_for(const Model& model) {
    const Features& features = model.features;
    const Index entries = features.is_dense() ? features.count * features.dimension : features.begin[features.count];
    if (entries <= tuning.judged_short_features * features.count) return 0;
    Index room = 0;
    for (Index s = 0; s < model.num_states; ++s) room += longest_row(model, s);
    return room + room / 2;
}

bool is_allowed(const Model& model, Index pair) { return model.reward[pair] != -kInfinity; }

// gamma p of a pair into its place, and what it earns at once; V is what `reward_next` is added to where it is given.
Lanes keep_row(Quartet& four, Index pair, Index at) {
    const Model& model = *four.model;
    Lanes gain = all(model.reward[pair]);
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i, ++at) {
        if (!four.keeps && model.reward_next == nullptr) break;
        const Lanes p = probability_in_four(model.features, i, four.theta.data);
        if (four.keeps) store(model.discount * p, four.kept.data + at * kLanes);
        if (model.reward_next != nullptr) gain = fused(model.reward_next[i], p, gain);
    }
    return gain;
}

// gamma sum_s' p(s'|s,a) X(s') of a listed pair
Lanes ahead(const Quartet& four, Index slot, const double* X) {
    const Model& model = *four.model;
    const Index pair = four.pair[slot], first = model.pair_begin[pair], last = model.pair_begin[pair + 1];
    Lanes total = {};
    if (!four.keeps) {
        for (Index i = first; i < last; ++i) {
            const Lanes there = load(X + Index{model.successor[i]} * kLanes);
            total = fused(probability_in_four(model.features, i, four.theta.data), there, total);
        }
        return model.discount * total;
    }
    const double* weight = four.kept.data + Index{four.offset[slot]} * kLanes;
    for (Index i = first; i < last; ++i, weight += kLanes) {
        total = fused(load(weight), load(X + Index{model.successor[i]} * kLanes), total);
    }
    return total;
}

Lanes best_listed(const Quartet& four, Index state, const double* X) {
    Index slot = four.begin[state];
    Lanes best = load(four.Q.data + slot * kLanes) + ahead(four, slot, X);
    for (++slot; slot < four.begin[state + 1]; ++slot) {
        best = greatest(load(four.Q.data + slot * kLanes) + ahead(four, slot, X), best);
    }
    return best;
}

// Adds to each draw's values what makes the mean residual of a sample of states 0.
void lift(const Quartet& four, double* X) {
    const Index states = four.model->num_states, run = states < 2048 ? 16 : 64, period = states < 2048 ? 64 : 1024;
    Lanes residual = {};
    Index count = 0;
    for (Index first = 0; first < states; first += period) {
        const Index last = smaller(first + run, states);
        for (Index s = first; s < last; ++s) residual += best_listed(four, s, X) - load(X + s * kLanes);
        count += last - first;
    }
    const Lanes by = residual / (static_cast<double>(count) * (1.0 - four.model->discount));
    for (Index s = 0; s < states; ++s) store(load(X + s * kLanes) + by, X + s * kLanes);
}

// Whether an action is within `width` of the best in some draw.
bool is_candidate(const Lanes& Q, const Lanes& best, const Lanes& width) {
    bool found = false;
    for (Index j = 0; j < kLanes; ++j) found |= Q[j] >= best[j] - width[j];
    return found;
}

}  // namespace

Quartet make_quartet(Arena& arena, const Model& model) {
    Quartet four;
    four.model = &model;
    four.theta = arena.take<double>(model.features.dimension * kLanes);
    four.V = arena.take<double>(model.num_states * kLanes);
    four.other = arena.take<double>(model.num_states * kLanes);
    four.Q = arena.take_unfilled<double>(model.num_pairs * kLanes);
    four.begin = arena.take<std::int32_t>(model.num_states + 1);
    four.pair = arena.take_unfilled<std::int32_t>(model.num_pairs);
    four.offset = arena.take_unfilled<std::int32_t>(model.num_pairs);
    four.kept = arena.take_unfilled<double>(room_for(model) * kLanes);
    return four;
}

Lanes action_value(const Quartet& four, Index pair, const double* V) {
    const Model& model = *four.model;
    Lanes total = {}, extra = {};
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        const Lanes p = probability_in_four(model.features, i, four.theta.data);
        total = fused(p, load(V + Index{model.successor[i]} * kLanes), total);
        if (model.reward_next != nullptr) extra = fused(model.reward_next[i], p, extra);
    }
    return fused(model.discount, total, all(model.reward[pair]) + extra);
}

LaneRange sweep_all_pairs(Quartet& four) {
    const Model& model = *four.model;
    LaneRange change{all(kInfinity), all(-kInfinity)};
    for (Index s = 0; s < model.num_states; ++s) {
        Lanes best = all(-kInfinity);
        for (Index pair = model.pair(s, 0); pair < model.pair(s + 1, 0); ++pair) {
            const Lanes Q = is_allowed(model, pair) ? action_value(four, pair, four.V.data) : all(-kInfinity);
            store(Q, four.Q.data + pair * kLanes);
            best = greatest(Q, best);
        }
        const Lanes by = best - load(four.V.data + s * kLanes);
        store(best, four.other.data + s * kLanes);
        change = {least(by, change.low), greatest(by, change.high)};
    }
    return change;
}

void list_candidates(Quartet& four, const Lanes& width) {
    const Model& model = *four.model;
    Index slots = 0, kept = 0;
    for (Index s = 0; s < model.num_states; ++s) {
        four.begin[s] = static_cast<std::int32_t>(slots);
        const Lanes best = load(four.other.data + s * kLanes);
        for (Index pair = model.pair(s, 0); pair < model.pair(s + 1, 0); ++pair) {
            if (!is_candidate(load(four.Q.data + pair * kLanes), best, width)) continue;
            four.pair[slots] = static_cast<std::int32_t>(pair);
            four.offset[slots++] = static_cast<std::int32_t>(kept);
            kept += model.pair_begin[pair + 1] - model.pair_begin[pair];
        }
    }
    four.begin[model.num_states] = static_cast<std::int32_t>(slots);
    four.keeps = kept * kLanes <= four.kept.size;
    for (Index slot = 0; slot < slots; ++slot) {
        store(keep_row(four, four.pair[slot], four.offset[slot]), four.Q.data + slot * kLanes);
    }
}

void list_policy(Quartet& four, const Index* policy, const Index* before) {
    const Model& model = *four.model;
    Index room = 0;
    four.keeps = !four.kept.empty();
    for (Index s = 0; s < model.num_states; room += longest_row(model, s), ++s) {
        if (before != nullptr && before[s] == policy[s]) continue;
        const Index pair = model.pair(s, policy[s]);
        four.begin[s] = four.begin[s + 1] = static_cast<std::int32_t>(s);
        four.pair[s] = static_cast<std::int32_t>(pair);
        four.offset[s] = static_cast<std::int32_t>(room);
        const Lanes earned = keep_row(four, pair, room), Q = earned + ahead(four, s, four.V.data);
        store(load(four.V.data + s * kLanes) - Q, four.Q.data + s * kLanes);
    }
    for (Index s = 0; s <= model.num_states; ++s) four.begin[s] = static_cast<std::int32_t>(s);
}

Lanes sweep_listed(Quartet& four, double* X) {
    const Index states = four.model->num_states, step = four.descending ? -1 : 1;
    Lanes low = {}, high = {};
    for (Index k = 0, s = four.descending ? states - 1 : 0; k < states; ++k, s += step) {
        const Lanes value = best_listed(four, s, X), change = value - load(X + s * kLanes);
        store(value, X + s * kLanes);
        low = least(change, low);
        high = greatest(change, high);
    }
    four.descending = !four.descending;
    lift(four, X);
    return four.model->discount * (high - low);
}

}  // namespace vb
