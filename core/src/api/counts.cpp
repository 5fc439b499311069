// Counts and objectives, as C sees them.
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "api/objective.hpp"
#include "common/tuning.hpp"

using namespace vb;

namespace {

constexpr std::uint8_t kMet = 2;                      // beside the bit that says whether a transition is possible

// Whether these can be counts of the model; then how many are above 0, and their sum.
bool are_counts(const Counts& own, const double* values, Index& above_zero, double& total) {
    above_zero = 0;
    total = 0.0;
    for (Index i = 0; i < own.value.size; ++i) {
        if (!not_negative(values[i]) || (values[i] > 0.0 && !own.possible[i])) return false;
        above_zero += values[i] > 0.0 ? 1 : 0;
        total += values[i];
    }
    return total < tuning.limit_total;
}

// Whether the list names transitions with counts, each once. Leaves everything as it was.
bool names_each_once(Counts& own, const double* values, const Index* observed, Index n) {
    Index met = 0;
    for (; met < n; ++met) {
        const Index i = observed[met];
        if (i < 0 || i >= own.value.size || !(values[i] > 0.0) || (own.possible[i] & kMet)) break;
        own.possible[i] |= kMet;
    }
    for (Index k = 0; k < met; ++k) own.possible[observed[k]] &= static_cast<std::uint8_t>(~kMet);
    return met == n;
}

}  // namespace

namespace vb {

bool read_objective(const vb_objective* given, const KnownModel& known, Objective& objective) {
    if (given == nullptr || given->counts == nullptr || &given->counts->model != &known.model) return false;
    if (!not_negative(given->ridge) || !not_negative(given->bias)) return false;
    if (given->state < 0 || given->state >= known.model.num_states) return false;
    if (given->linear != nullptr && !all_finite(given->linear, known.set.dimension)) return false;
    const Counts& counts = given->counts->counts;
    objective.counts = counts.value.data;
    objective.observed = counts.observed.data;
    objective.num_observed = counts.num_observed;
    objective.linear = given->linear;
    objective.ridge = given->ridge;
    objective.bias = given->bias;
    objective.state = given->state;
    return true;
}

}  // namespace vb

extern "C" {

vb_status vb_counts_new(const vb_model* model, const uint8_t* possible, vb_counts** counts) {
    if (counts == nullptr) return VB_BAD_ARGUMENT;
    *counts = nullptr;
    if (model == nullptr || !is_given(possible, model->known.model.num_transitions)) return VB_BAD_ARGUMENT;
    vb_counts* made = make_handle<vb_counts>(model->known);
    if (made == nullptr || made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    Counts& own = made->counts;
    for (Index i = 0; i < own.possible.size; ++i) own.possible[i] = possible[i] != 0 ? 1 : 0;
    *counts = made;
    return VB_OK;
}

void vb_counts_free(vb_counts* counts) { free_handle(counts); }

int64_t vb_counts_add(vb_counts* counts, int64_t state, int64_t action, int64_t next_state, int64_t times) {
    if (counts == nullptr) return VB_NO_COUNTS;
    const Model& model = counts->model;
    if (state < 0 || state >= model.num_states) return VB_BAD_STATE;
    if (action < 0 || action >= model.num_actions) return VB_BAD_ACTION;
    if (next_state < 0 || next_state >= model.num_states) return VB_BAD_NEXT_STATE;
    if (times < 1 || times >= static_cast<Index>(tuning.limit_total) - counts->counts.total) return VB_BAD_TIMES;
    const Index i = find_transition(model, model.pair(state, action), next_state);
    if (i < 0 || !counts->counts.possible[i]) return VB_IMPOSSIBLE;
    add_count(counts->counts, i, times);
    return i;
}

vb_status vb_counts_load(vb_counts* counts, const double* values, const int64_t* observed, int64_t num_observed) {
    if (counts == nullptr || num_observed < 0 || !is_given(observed, num_observed)) return VB_BAD_ARGUMENT;
    Counts& own = counts->counts;
    if (!is_given(values, own.value.size)) return VB_BAD_ARGUMENT;
    Index above_zero = 0;
    double total = 0.0;
    if (!are_counts(own, values, above_zero, total) || num_observed != above_zero) return VB_BAD_ARGUMENT;
    if (!names_each_once(own, values, observed, num_observed)) return VB_BAD_ARGUMENT;
    copy(values, own.value.size, own.value.data);
    copy(observed, num_observed, own.observed.data);
    own.num_observed = num_observed;
    own.total = static_cast<Index>(total);
    return VB_OK;
}

vb_status vb_counts_look(vb_counts* counts, vb_counts_view* view) {
    if (counts == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    Counts& own = counts->counts;
    *view = {own.value.data, own.observed.data, own.num_observed, own.total};
    return VB_OK;
}

}  // extern "C"
