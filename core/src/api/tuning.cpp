// The constants of the solvers, and what they decide, as C sees them.
#include "common/tuning.hpp"

#include "model/build_model.hpp"
#include "planning/method.hpp"

using namespace vb;

namespace {

struct Row {
    const char *name, *unit, *meaning;
    double value;
};

#define VB_ROW(type, name, value, unit, sentence) {#name, unit, sentence, static_cast<double>(tuning.name)},
constexpr Row rows[] = {VB_TUNING(VB_ROW)};
#undef VB_ROW

constexpr Row after_last = {nullptr, nullptr, nullptr, std::numeric_limits<double>::quiet_NaN()};

const Row& row(int64_t k) { return k >= 0 && k < static_cast<int64_t>(sizeof rows / sizeof *rows) ? rows[k] : after_last; }

}  // namespace

extern "C" {

const char* vb_constant_name(int64_t k) { return row(k).name; }

const char* vb_constant_unit(int64_t k) { return row(k).unit; }

const char* vb_constant_meaning(int64_t k) { return row(k).meaning; }

double vb_constant_value(int64_t k) { return row(k).value; }

int32_t vb_factors_pay(const vb_model* model, int32_t purpose) {
    if (model == nullptr) return 0;
    switch (purpose) {
        case VB_FOR_ONE_VALUE: return method_for_one_value(model->known.model) == Method::factors;
        case VB_FOR_ONE_PLAN: return method_for_one_plan(model->known.model) == Method::factors;
        default: return method_for_many_plans(model->known.model) == Method::factors;
    }
}

}  // extern "C"
