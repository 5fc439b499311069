#include "model/counts.hpp"

namespace vb {

Counts make_counts(Arena& arena, const Model& model) {
    Counts counts;
    counts.value = arena.take<double>(model.num_transitions);
    counts.observed = arena.take<Index>(model.num_transitions);
    counts.possible = arena.take<std::uint8_t>(model.num_transitions);
    return counts;
}

Index find_transition(const Model& model, Index pair, Index next_state) {
    Index low = model.pair_begin[pair], high = model.pair_begin[pair + 1];
    while (low < high) {  // successors rise within a pair
        const Index middle = (low + high) / 2;
        if (model.successor[middle] < next_state) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < model.pair_begin[pair + 1] && model.successor[low] == next_state ? low : -1;
}

void add_count(Counts& counts, Index i, Index times) {
    if (counts.value[i] == 0.0) counts.observed[counts.num_observed++] = i;
    counts.value[i] += static_cast<double>(times);
    counts.total += times;
}

}  // namespace vb
