// What draws disagree on, and how much of that a policy comes to see.
#include "common/logarithm.hpp"
#include "common/numbers.hpp"
#include "common/tuning.hpp"
#include "judging/draws.hpp"

namespace vb {

namespace {

// sum_k x log x, each at least the least number that has an ordinary logarithm
double entropy(const double* x, Index n) {
    return lane_sum(n, [&](Index k) { return x[k] * log_ordinary(larger(x[k], tuning.sample_least_probability)); });
}

// p of one transition in all draws
void find_together(const Draws& draws, Index i) {
    const Features& features = draws.model->features;
    const Index d = features.dimension;
    double* p = draws.together.data;
    if (features.is_dense()) {
        add_columns(draws.turned.data, draws.count, features.dense + i * d, d, nullptr, p);
        return;
    }
    fill(p, draws.count, 0.0);
    for (Index k = features.begin[i]; k < features.begin[i + 1]; ++k) {
        add_scaled(features.weight[k], draws.turned.data + features.coordinate[k] * draws.count, draws.count, p);
    }
}

void inform(Draws& draws, Index pair) {
    if (draws.informed[pair]) return;
    const Model& model = *draws.model;
    const double share = 1.0 / static_cast<double>(draws.count);
    double apart = 0.0;
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        find_together(draws, i);
        const double mean = model.features.along(i, draws.mean.data);
        apart += share * entropy(draws.together.data, draws.count) - entropy(&mean, 1);
    }
    draws.information[pair] = larger(apart, 0.0);
    draws.informed[pair] = 1;
}

// p of the mean model, at the pairs of a policy
void find_mean_rows(Draws& draws, const Index* policy) {
    const Model& model = *draws.model;
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = model.pair(s, policy[s]);
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            draws.p[i] = model.features.along(i, draws.mean.data);
        }
    }
}

}  // namespace

void forget_information(Draws& draws) {
    const Index d = draws.theta.cols;
    fill(draws.informed.data, draws.informed.size, std::uint8_t{0});
    fill(draws.mean.data, d, 0.0);
    for (Index m = 0; m < draws.count; ++m) {
        for (Index k = 0; k < d; ++k) {
            draws.turned[k * draws.count + m] = draws.theta[m][k];
            draws.mean[k] += draws.theta[m][k];
        }
    }
    for (Index k = 0; k < d; ++k) draws.mean[k] /= static_cast<double>(draws.count);
}

void find_taught(Draws& draws, const Question& asked, double* taught) {
    const Model& model = *draws.model;
    const double wanted = draws.side_by_side ? tuning.judged_visits / (1.0 - model.discount) : 0.0;
    const double precision = larger(wanted, sweep_precision(model.discount));
    for (Index k = 0; k < asked.policies.rows; ++k) {
        copy(asked.policies[k], model.num_states, draws.held.data);
        const Valuation at{draws.p.data, draws.held.data, draws.V.data, draws.lu};
        find_mean_rows(draws, at.policy);
        if (draws.planner.factors()) held_value(draws.planner, at, precision);  // factors for the visits
        occupancy(draws.planner, at, {asked.state, precision, k > 0}, draws.visits.data);
        double total = 0.0;
        for (Index s = 0; s < model.num_states; ++s) {
            const Index pair = model.pair(s, at.policy[s]);
            if (draws.visits[s] == 0.0) continue;
            inform(draws, pair);
            total += draws.visits[s] * draws.information[pair];
        }
        taught[k] = total;
    }
}

void find_information(Draws& draws) {
    for (Index pair = 0; pair < draws.model->num_pairs; ++pair) inform(draws, pair);
}

}  // namespace vb
