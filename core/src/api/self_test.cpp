// Known answers that the library gives when it is loaded: a compiler that computes something else than what is written is
// found out before anybody relies on it. Each question has an answer that needs no other program: a closed form.
#include "common/logarithm.hpp"
#include "linalg/lu.hpp"
#include "vbmle.h"

using namespace vb;

namespace {

constexpr double kExact = 1e-15;    // relative: two units in the last place
constexpr double kRounded = 1e-11;  // relative: some hundred operations

bool is_near(double value, double expected, double relative) {
    return vb::fabs(value - expected) <= relative * (1.0 + vb::fabs(expected));
}

// log 2, and log 1 + ... + log 20 = log 20! = log 2432902008176640000: lanes, and what is left beside them.
bool logarithms_are_right() {
    double one[20], x[20];
    for (Index i = 0; i < 20; ++i) {
        one[i] = 1.0;
        x[i] = static_cast<double>(i + 1);
    }
    return is_near(log_of(2.0), 0x1.62e42fefa39efp-1, kExact) && is_near(log_of(0x1p-1000), -0x1.5a92d6d005c94p+9, kExact) &&
           is_near(weighted_log_sum(one, x, 20), 0x1.52af57aed77bep+5, 10.0 * kExact);
}

// The matrix with 2 on the diagonal and -1/2 beside it, times (1, ..., n), solved by its factors again.
bool factors_are_right() {
    constexpr Index n = 20;  // more columns than a panel has
    double entries[n * n] = {}, x[n];
    for (Index i = 0; i < n; ++i) {
        entries[i * n + i] = 2.0;
        if (i > 0) entries[i * n + i - 1] = -0.5;
        if (i + 1 < n) entries[i * n + i + 1] = -0.5;
        x[i] = 2.0 * static_cast<double>(i + 1) - 0.5 * static_cast<double>((i > 0 ? i : 0) + (i + 1 < n ? i + 2 : 0));
    }
    lu_factor({entries, n, n});
    lu_solve({entries, n, n}, x);
    for (Index i = 0; i < n; ++i) {
        if (!is_near(x[i], static_cast<double>(i + 1), kRounded)) return false;
    }
    return true;
}

// Two states; in each one can rest, or try: then state 1 is next with probability q = .9 theta_1 + .2 theta_2. Resting in
// state 0 earns .1 and stays; trying earns 1 in state 1; resting there leads to state 0. With gamma = .9 trying is best
// whenever q > 1/9, and then V(0) = 9 q, V(1) = 9 q + 1.
struct Trial {
    int64_t pair_begin[5] = {0, 1, 3, 4, 6};
    int64_t successor[6] = {0, 0, 1, 0, 0, 1};
    double reward[4] = {0.1, 0.0, 0.0, 1.0};
    double phi[12] = {1.0, 1.0, 0.1, 0.8, 0.9, 0.2, 1.0, 1.0, 0.1, 0.8, 0.9, 0.2};
    double center[2] = {0.5, 0.5};
    int64_t coordinates[2] = {0, 1}, both[2] = {0, 2}, one[2] = {0, 1};
    double basis[2] = {0x1.6a09e667f3bcdp-1, -0x1.6a09e667f3bcdp-1};  // sqrt(1/2)
    double normals[2] = {0x1.6a09e667f3bcdp-1, -0x1.6a09e667f3bcdp-1}, offsets[2] = {0.5, 0.5};
    double diameter = 0x1.6a09e667f3bcdp+0;  // sqrt 2
    vb_model* model = nullptr;

    Trial() {
        vb_model_data data = {};
        data.num_states = data.num_actions = data.dimension = 2;
        data.num_transitions = 6;
        data.discount = 0.9;
        data.pair_begin = pair_begin;
        data.successor = successor;
        data.reward = reward;
        data.phi = phi;
        data.num_blocks = 1;
        data.center = center;
        data.coordinates = coordinates;
        data.coordinate_begin = both;
        data.basis = basis;
        data.free_begin = one;
        data.normals = normals;
        data.offsets = offsets;
        data.facet_begin = both;
        data.diameter = &diameter;
        vb_model_new(&data, &model);
    }
    ~Trial() { vb_model_free(model); }
};

// V at q = .55, the theta in the middle; factors and sweeps.
bool plan_is_right(const Trial& trial, int32_t factors) {
    vb_planner* planner = nullptr;
    vb_planner_view at = {};
    if (vb_planner_new(trial.model, factors, &planner) != VB_OK) return false;
    vb_planner_look(planner, &at);
    at.theta[0] = at.theta[1] = 0.5;
    bool right = vb_planner_assemble(planner) == VB_OK && vb_planner_optimal(planner) == VB_OK;
    right = right && is_near(at.V[0], 4.95, 10.0 * kRounded) && is_near(at.V[1], 5.95, 10.0 * kRounded);
    right = right && at.policy[0] == 1 && at.policy[1] == 1;
    vb_planner_free(planner);
    return right;
}

// 3 log q + 5 log(1 - q) + 9 q is greatest where 9 q^2 = q + 3, at q = (1 + sqrt 109)/18.
bool climb_is_right(const Trial& trial) {
    const uint8_t possible[6] = {1, 1, 1, 1, 1, 1};
    const double q = (1.0 + vb::sqrt(109.0)) / 18.0, best = 3.0 * vb::log(q) + 5.0 * vb::log(1.0 - q) + 9.0 * q;
    vb_counts* counts = nullptr;
    vb_solver* solver = nullptr;
    bool right = vb_counts_new(trial.model, possible, &counts) == VB_OK && vb_solver_new(trial.model, 1, 1, &solver) == VB_OK;
    if (right) {
        vb_solver_view at = {};
        vb_counts_add(counts, 0, 1, 1, 3);
        vb_counts_add(counts, 0, 1, 0, 5);
        const vb_objective objective = {counts, nullptr, 0.0, 1.0, 0};
        right = vb_solver_climb(solver, &objective) == VB_OK && vb_solver_look(solver, &at) == VB_OK;
        right = right && is_near(at.result[0], best, kRounded) && is_near(0.2 + 0.7 * at.theta[0], q, 1e-7);
    }
    vb_solver_free(solver);
    vb_counts_free(counts);
    return right;
}

}  // namespace

const char* vb_self_test() {
    if (!logarithms_are_right()) return "a logarithm";
    if (!factors_are_right()) return "a factorisation";
    const Trial trial;
    if (trial.model == nullptr) return "a model";
    if (!plan_is_right(trial, 1)) return "a plan by factors";
    if (!plan_is_right(trial, 0)) return "a plan by sweeps";
    return climb_is_right(trial) ? nullptr : "a climb";
}
