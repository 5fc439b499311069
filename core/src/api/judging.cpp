// Policies judged by draws, as C sees it.
#include "api/handle.hpp"
#include "common/tuning.hpp"
#include "judging/draws.hpp"
#include "model/build_model.hpp"
#include "planning/known_model.hpp"

using namespace vb;

struct vb_draws {
    Arena arena;
    Draws draws;
};

namespace {

// Whether a policy takes allowed actions only.
bool policy_fits(const Model& model, const Index* policy) {
    for (Index s = 0; s < model.num_states; ++s) {
        if (policy[s] < 0 || policy[s] >= model.num_actions) return false;
        if (model.reward[model.pair(s, policy[s])] == -kInfinity) return false;
    }
    return true;
}

bool all_fit(const Model& model, const Index* policies, Index count) {
    for (Index k = 0; k < count; ++k) {
        if (!policy_fits(model, policies + k * model.num_states)) return false;
    }
    return true;
}

}  // namespace

extern "C" {

vb_status vb_draws_new(const vb_model* model, int64_t count, vb_draws** draws) {
    if (draws == nullptr) return VB_BAD_ARGUMENT;
    *draws = nullptr;
    if (model == nullptr || count < 1 || count > tuning.limit_places) return VB_BAD_ARGUMENT;
    if (!rewards_fit(model->known.model)) return VB_BAD_ARGUMENT;
    vb_draws* made = make_handle<vb_draws>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    made->draws = make_draws(made->arena, model->known.model, count);
    if (made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *draws = made;
    return VB_OK;
}

void vb_draws_free(vb_draws* draws) { free_handle(draws); }

vb_status vb_draws_look(vb_draws* handle, vb_draws_view* view) {
    if (handle == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    const Draws& draws = handle->draws;
    *view = {draws.theta.data, draws.best.data, draws.policy.data, draws.information.data, values_precision(draws)};
    return VB_OK;
}

vb_status vb_draws_plan(vb_draws* handle, const int64_t* which, int64_t count) {
    if (handle == nullptr || which == nullptr || count < 1) return VB_BAD_ARGUMENT;
    Draws& draws = handle->draws;
    for (Index k = 0; k < count; ++k) {
        if (which[k] < 0 || which[k] >= draws.count) return VB_BAD_ARGUMENT;
        if (!policy_fits(*draws.model, draws.policy[which[k]])) return VB_BAD_ARGUMENT;
    }
    plan_draws(draws, {which, count});
    return VB_OK;
}

vb_status vb_draws_take_over(vb_draws* handle) {
    if (handle == nullptr) return VB_BAD_ARGUMENT;
    if (!all_fit(*handle->draws.model, handle->draws.policy.data, handle->draws.count)) return VB_BAD_ARGUMENT;
    forget_information(handle->draws);
    return VB_OK;
}

vb_status vb_draws_judge(vb_draws* handle, const int64_t* policies, int64_t count, int64_t state, double* loss,
                         double* taught) {
    if (handle == nullptr || policies == nullptr || loss == nullptr || taught == nullptr || count < 1) return VB_BAD_ARGUMENT;
    Draws& draws = handle->draws;
    const Index states = draws.model->num_states;
    if (state < 0 || state >= states) return VB_BAD_ARGUMENT;
    if (!all_fit(*draws.model, policies, count) || !all_fit(*draws.model, draws.policy.data, draws.count)) return VB_BAD_ARGUMENT;
    const Question asked{{policies, count, states}, state};
    find_losses(draws, asked, {loss, count, draws.count});
    find_taught(draws, asked, taught);
    return VB_OK;
}

vb_status vb_draws_inform(vb_draws* handle) {
    if (handle == nullptr) return VB_BAD_ARGUMENT;
    find_information(handle->draws);
    return VB_OK;
}

}  // extern "C"
