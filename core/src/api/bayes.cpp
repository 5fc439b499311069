// Bayes-optimal control, as C sees it.
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "bayes/search.hpp"
#include "common/numbers.hpp"
#include "common/tuning.hpp"

using namespace vb;

struct vb_bayes {
    Arena arena;
    HiddenModel model;
    Search search;
    Index num_added = 0;
};

namespace {

bool sizes_fit(const vb_bayes_data& d) {
    constexpr Index limit = tuning.limit_indices;
    if (d.num_states < 1 || d.num_actions < 1 || d.num_candidates < 1 || d.steps < 0) return false;
    if (d.num_states >= limit || d.num_actions >= limit || d.num_candidates >= limit || d.steps >= limit) return false;
    if (d.most_nodes < 1 || d.most_nodes >= limit || d.num_states * d.num_actions >= limit) return false;
    const Index stages = larger(d.steps, Index{1});
    Index numbers = 0;
    if (__builtin_mul_overflow(stages * d.num_states, d.num_actions, &numbers)) return false;
    if (__builtin_mul_overflow(numbers, d.num_candidates, &numbers) || numbers >= tuning.limit_numbers) return false;
    const bool discounts = d.discount >= 0.0 && (d.steps > 0 ? d.discount <= 1.0 : d.discount < 1.0);
    return discounts && d.pair_begin != nullptr && d.successor != nullptr && d.p != nullptr && d.reward != nullptr &&
           d.known != nullptr;
}

HiddenModel model_of(const vb_bayes_data& d) {
    HiddenModel model;
    model.num_states = d.num_states;
    model.num_actions = d.num_actions;
    model.num_candidates = d.num_candidates;
    model.stages = larger(d.steps, Index{1});
    model.ends = d.steps > 0;
    model.discount = d.discount;
    model.pair_begin = d.pair_begin;
    model.successor = d.successor;
    model.p = d.p;
    model.reward = d.reward;
    model.known = d.known;
    return model;
}

bool pattern_fits(const HiddenModel& model) {
    if (model.pair_begin[0] != 0) return false;
    for (Index pair = 0; pair < model.num_pairs(); ++pair) {
        if (model.pair_begin[pair + 1] < model.pair_begin[pair]) return false;
    }
    return all_within(model.successor, model.pair_begin[model.num_pairs()], model.num_states);
}

// Rewards of an action that is allowed are finite, those of another minus infinity.
bool reward_fits(const HiddenModel& model, Index pair) {
    const double* row = model.reward + pair * model.num_candidates;
    if (row[0] != -kInfinity) return all_finite(row, model.num_candidates);
    for (Index k = 1; k < model.num_candidates; ++k) {
        if (row[k] != -kInfinity) return false;
    }
    return true;
}

bool some_action_everywhere(const HiddenModel& model) {
    for (Index s = 0; s < model.num_states; ++s) {
        bool some = false;
        for (Index a = 0; a < model.num_actions; ++a) {
            const Index pair = model.pair(s, a);
            if (!reward_fits(model, pair)) return false;
            some = some || model.is_allowed(pair);
        }
        if (!some) return false;
    }
    return true;
}

bool numbers_fit(const HiddenModel& model) {
    const Index K = model.num_candidates, n = model.pair_begin[model.num_pairs()] * K;
    for (Index i = 0; i < n; ++i) {
        if (!not_negative(model.p[i])) return false;
    }
    return all_finite(model.known, model.num_places() * K) && some_action_everywhere(model);
}

bool task_fits(const vb_bayes& bayes, const vb_bayes_task& task) {
    if (task.belief == nullptr || task.place < 0 || task.place >= bayes.model.num_places()) return false;
    if (!not_negative(task.tolerance) || task.most_trials < 0 || bayes.num_added == 0) return false;
    double total = 0.0;
    for (Index k = 0; k < bayes.model.num_candidates; ++k) {
        if (!not_negative(task.belief[k])) return false;
        total += task.belief[k];
    }
    return vb::fabs(total - 1.0) <= tuning.distribution_rounding;
}

}  // namespace

extern "C" {

vb_status vb_bayes_new(const vb_bayes_data* data, vb_bayes** bayes) {
    if (bayes == nullptr) return VB_BAD_ARGUMENT;
    *bayes = nullptr;
    if (data == nullptr || !sizes_fit(*data)) return VB_BAD_ARGUMENT;
    const HiddenModel model = model_of(*data);
    if (!pattern_fits(model) || !numbers_fit(model)) return VB_BAD_ARGUMENT;
    vb_bayes* made = make_handle<vb_bayes>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    made->model = model;
    made->search = make_search(made->arena, made->model, data->most_nodes);
    if (made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *bayes = made;
    return VB_OK;
}

void vb_bayes_free(vb_bayes* bayes) { free_handle(bayes); }

vb_status vb_bayes_add(vb_bayes* bayes, const int64_t* policy, const double* values) {
    if (bayes == nullptr || policy == nullptr || values == nullptr) return VB_BAD_ARGUMENT;
    const HiddenModel& model = bayes->model;
    const Index K = model.num_candidates, places = model.num_places();
    LowerBounds& lower = bayes->search.graph.lower;
    if (!all_within(policy, places, model.num_actions) || !all_finite(values, places * K)) return VB_BAD_ARGUMENT;
    if (bayes->search.num_roots > 0 || lower.count + places > lower.place.size) return VB_BAD_ARGUMENT;
    for (Index place = 0; place < places; ++place) {
        const Index made = add_vector(lower, place, policy[place]);
        copy(values + place * K, K, lower.values.data + made * K);
    }
    bayes->num_added = lower.count;
    return VB_OK;
}

vb_status vb_bayes_improve(vb_bayes* bayes, const vb_bayes_task* task, vb_bayes_bounds* bounds) {
    if (bayes == nullptr || task == nullptr || bounds == nullptr) return VB_BAD_ARGUMENT;
    if (!task_fits(*bayes, *task)) return VB_BAD_ARGUMENT;
    Search& search = bayes->search;
    BeliefGraph& graph = search.graph;
    if (graph.num_nodes == graph.nodes.size || search.num_roots == search.roots.size) return VB_OUT_OF_MEMORY;
    const Index root = find_node(graph, task->place, task->belief);
    add_root(search, root);
    const SearchResult found = improve(search, {root, task->tolerance, task->most_trials});
    const Node& at = graph.nodes[root];
    *bounds = {at.low, at.high, found.trials, graph.num_nodes, graph.lower.count};
    return code(found.status);
}

vb_status vb_bayes_look(vb_bayes* bayes, vb_bayes_view* view) {
    if (bayes == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    const LowerBounds& lower = bayes->search.graph.lower;
    *view = {lower.values.data, lower.place.data, lower.action.data};
    return VB_OK;
}

vb_status vb_bayes_keep(const vb_bayes* bayes, uint8_t* kept) {
    if (bayes == nullptr || kept == nullptr) return VB_BAD_ARGUMENT;
    const BeliefGraph& graph = bayes->search.graph;
    for (Index i = 0; i < graph.lower.count; ++i) kept[i] = i < bayes->num_added ? 1 : 0;
    for (Index i = 0; i < bayes->search.num_roots; ++i) kept[graph.nodes[bayes->search.roots[i]].vector] = 1;
    mark_followers(graph.lower, kept);
    return VB_OK;
}

}  // extern "C"
