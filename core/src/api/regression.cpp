// Value-targeted regression and information, as C sees them.
#include "api/handle.hpp"
#include "model/build_model.hpp"
#include "optimism/information.hpp"
#include "optimism/regression.hpp"

using namespace vb;

struct vb_regression {
    Arena arena;
    Regression regression;
};

struct vb_information {
    Arena arena;
    Information information;
};

namespace {

bool is_positive(double value) { return value > 0.0 && value < kInfinity; }

bool is_pair(const vb_regression& handle, Index pair) {
    return pair >= 0 && pair < handle.regression.model->num_pairs;
}

bool is_transition(const vb_information& handle, Index transition) {
    return transition >= 0 && transition < handle.information.model->num_transitions;
}

}  // namespace

extern "C" {

vb_status vb_regression_new(const vb_model* model, double ridge, vb_regression** regression) {
    if (regression == nullptr) return VB_BAD_ARGUMENT;
    *regression = nullptr;
    if (model == nullptr || !is_positive(ridge)) return VB_BAD_ARGUMENT;
    vb_regression* made = make_handle<vb_regression>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    made->regression = make_regression(made->arena, model->known.model, model->known.set, ridge);
    if (made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *regression = made;
    return VB_OK;
}

void vb_regression_free(vb_regression* regression) { free_handle(regression); }

vb_status vb_regression_look(vb_regression* handle, vb_regression_view* view) {
    if (handle == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    Regression& known = handle->regression;
    *view = {known.sigma.size, known.sigma.data, known.inverse.data, known.b.data, &known.log_det};
    return VB_OK;
}

vb_status vb_regression_add(vb_regression* handle, int64_t pair, const double* V, double target, double weight) {
    if (handle == nullptr || V == nullptr || !is_pair(*handle, pair)) return VB_BAD_ARGUMENT;
    if (!(vb::fabs(target) < kInfinity && weight >= 0.0 && weight < kInfinity)) return VB_BAD_ARGUMENT;
    add_sample(handle->regression, {pair, target, weight}, V);
    return VB_OK;
}

vb_status vb_regression_predict(vb_regression* handle, int64_t pair, const double* V, double* out) {
    if (handle == nullptr || V == nullptr || out == nullptr || !is_pair(*handle, pair)) return VB_BAD_ARGUMENT;
    const Prediction found = predict(handle->regression, pair, V);
    out[0] = found.mean;
    out[1] = found.norm;
    return VB_OK;
}

vb_status vb_regression_estimate(const vb_regression* handle, double* theta) {
    if (handle == nullptr || theta == nullptr) return VB_BAD_ARGUMENT;
    estimate(handle->regression, theta);
    return VB_OK;
}

vb_status vb_information_new(const vb_model* model, double ridge, double enough, vb_information** information) {
    if (information == nullptr) return VB_BAD_ARGUMENT;
    *information = nullptr;
    if (model == nullptr || !is_positive(ridge) || !is_positive(enough)) return VB_BAD_ARGUMENT;
    vb_information* made = make_handle<vb_information>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    made->information = make_information(made->arena, model->known.model, model->known.set, ridge, enough);
    if (made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    *information = made;
    return VB_OK;
}

void vb_information_free(vb_information* information) { free_handle(information); }

vb_status vb_information_look(vb_information* handle, vb_information_view* view) {
    if (handle == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    Information& known = handle->information;
    *view = {known.inverse.size, known.inverse.data, known.growth.data, &known.due};
    return VB_OK;
}

vb_status vb_information_add(vb_information* handle, int64_t transition) {
    if (handle == nullptr || !is_transition(*handle, transition)) return VB_BAD_ARGUMENT;
    add_transition(handle->information, transition);
    return VB_OK;
}

vb_status vb_information_follow(vb_information* handle, const int64_t* transitions, int64_t count, double* squares) {
    if (handle == nullptr || count < 0) return VB_BAD_ARGUMENT;
    if (count > 0 && (transitions == nullptr || squares == nullptr)) return VB_BAD_ARGUMENT;
    for (Index k = 0; k < count; ++k) {
        if (!is_transition(*handle, transitions[k])) return VB_BAD_ARGUMENT;
    }
    for (Index k = 0; k < count; ++k) squares[k] = add_transition(handle->information, transitions[k]);
    return VB_OK;
}

vb_status vb_information_decided(vb_information* handle) {
    if (handle == nullptr) return VB_BAD_ARGUMENT;
    note_decision(handle->information);
    return VB_OK;
}

}  // extern "C"
