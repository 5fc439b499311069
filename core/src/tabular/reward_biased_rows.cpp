#include "tabular/reward_biased_rows.hpp"

#include "common/logarithm.hpp"
#include "common/tuning.hpp"
#include "tabular/biased_pair.hpp"

namespace vb {

namespace {

// The transitions of a pair.
struct Span {
    Index begin;
    Index end;
};

Span span_of(const Model& model, Index pair) { return {model.pair_begin[pair], model.pair_begin[pair + 1]}; }

BiasedPair pair_at(const TabularProblem& problem, const RewardBiasedRows& rows, Span span, double weight) {
    return {span.end - span.begin, problem.counts + span.begin, rows.gain.data + span.begin, weight};
}

// f(p), with policy and V made optimal for p; minus infinity where an observed transition has none.
double objective(const TabularProblem& problem, RewardBiasedRows& rows, const double* p, Index* policy) {
    double f = 0.0;
    for (Index i = 0; i < rows.model->num_transitions; ++i) {
        if (!(problem.counts[i] > 0.0)) continue;
        if (p[i] <= 0.0) return -kInfinity;
        f += problem.counts[i] * log_of(p[i]);
    }
    optimal_value(rows.planner, {p, policy, rows.V.data, rows.lu}, sweep_precision(rows.model->discount));
    return f + problem.bias * rows.V[problem.state];
}

// Pairs that all but exclude something observed move half-way to the frequencies.
void make_possible(const TabularProblem& problem, RewardBiasedRows& rows) {
    double* p = rows.p.data;
    for (Index pair = 0; pair < rows.model->num_pairs; ++pair) {
        const Span span = span_of(*rows.model, pair);
        const double visits = problem.visits[pair];
        bool scarce = false;
        for (Index i = span.begin; i < span.end; ++i) scarce |= p[i] * visits < tuning.rows_scarce * problem.counts[i];
        if (!scarce) continue;
        for (Index i = span.begin; i < span.end; ++i) p[i] = 0.5 * (p[i] + problem.counts[i] / visits);
    }
}

// What the linearised objective gains where a pair goes from p to its target.
double gain_of_pair(const BiasedPair& pair, const double* p, const double* target) {
    double gap = 0.0;
    for (Index i = 0; i < pair.size; ++i) {
        if (pair.counts[i] > 0.0) gap += pair.counts[i] * log_of(target[i] / p[i]);
        gap += pair.weight * (target[i] - p[i]) * pair.gain[i];
    }
    return gap;
}

// The target of every pair, and how much the linearised objective gains by going there.
double aim(const TabularProblem& problem, RewardBiasedRows& rows) {
    const Model& model = *rows.model;
    const Valuation at{rows.p.data, rows.policy.data, rows.V.data, rows.lu};
    occupancy(rows.planner, at, {problem.state, sweep_precision(model.discount)}, rows.w.data);
    for (Index i = 0; i < model.num_transitions; ++i) rows.gain[i] = model.gain(i, rows.V.data);
    double gap = 0.0;
    for (Index s = 0; s < model.num_states; ++s) {
        for (Index a = 0; a < model.num_actions; ++a) {
            const Span span = span_of(model, model.pair(s, a));
            const double weight = rows.policy[s] == a ? problem.bias * rows.w[s] : 0.0;
            const BiasedPair pair = pair_at(problem, rows, span, weight);
            biased_distribution(pair, rows.target.data + span.begin);
            gap += gain_of_pair(pair, rows.p.data + span.begin, rows.target.data + span.begin);
        }
    }
    return gap;
}

// Moves p towards the target as far as f rises enough; false where it does not: then only rounding is left.
bool move_towards_target(const TabularProblem& problem, RewardBiasedRows& rows, TabularResult& at) {
    const Index n = rows.model->num_transitions;
    double *p = rows.p.data, *trial = rows.trial.data;
    double step = 1.0;
    for (Index k = 0; k < tuning.rows_halvings; ++k, step *= 0.5) {
        for (Index i = 0; i < n; ++i) trial[i] = p[i] + step * (rows.target[i] - p[i]);
        const double f = objective(problem, rows, trial, rows.policy.data);
        if (f >= at.objective + tuning.armijo * step * at.gap) {
            copy(trial, n, p);
            at.objective = f;
            return true;
        }
    }
    at.objective = objective(problem, rows, p, rows.policy.data);
    return false;
}

// Raises f from p to a fixed point, where the gap is at most tolerance (1 + |f|).
TabularResult climb(const TabularProblem& problem, RewardBiasedRows& rows) {
    TabularResult at;
    at.objective = objective(problem, rows, rows.p.data, rows.policy.data);
    for (Index k = 0; k < problem.limit; ++k) {
        at.gap = aim(problem, rows);
        if (at.gap <= problem.tolerance * (1.0 + vb::fabs(at.objective))) break;
        if (!move_towards_target(problem, rows, at)) break;
    }
    return at;
}

// What a pair would be worth to the linearised objective if it were on the policy with this weight.
double score_on_policy(const TabularProblem& problem, RewardBiasedRows& rows, Index index, double weight) {
    const Span span = span_of(*rows.model, index);
    const BiasedPair pair = pair_at(problem, rows, span, weight);
    double* best = rows.trial.data + span.begin;
    biased_distribution(pair, best);
    return weight * rows.model->reward[index] + distribution_score(pair, problem.visits[index], best);
}

// The pair off the policy that gains most by the linearised objective, or -1.
Index best_switch(const TabularProblem& problem, RewardBiasedRows& rows) {
    const Model& model = *rows.model;
    double best = 0.0;
    Index chosen = -1;
    for (Index s = 0; s < model.num_states; ++s) {
        const double weight = problem.bias * rows.w[s];
        if (weight == 0.0) continue;
        const double own = score_on_policy(problem, rows, model.pair(s, rows.policy[s]), weight);
        for (Index a = 0; a < model.num_actions; ++a) {
            const Index pair = model.pair(s, a);
            if (rows.refused[pair] != 0) continue;
            const double gain = score_on_policy(problem, rows, pair, weight) - own;
            if (gain > best + tuning.rows_tie * (1.0 + vb::fabs(own))) {
                best = gain;
                chosen = pair;
            }
        }
    }
    return chosen;
}

// A trial model in which the pair is on the policy, and the pair it replaces back at its frequencies.
void switch_to(const TabularProblem& problem, RewardBiasedRows& rows, Index chosen) {
    const Model& model = *rows.model;
    const Index s = chosen / model.num_actions, old = model.pair(s, rows.policy[s]);
    copy(rows.p.data, model.num_transitions, rows.trial.data);
    copy(rows.policy.data, model.num_states, rows.trial_policy.data);
    rows.trial_policy[s] = chosen - model.pair(s, 0);
    const Span span = span_of(model, chosen), left = span_of(model, old);
    biased_distribution(pair_at(problem, rows, span, problem.bias * rows.w[s]), rows.trial.data + span.begin);
    if (!(problem.visits[old] > 0.0)) return;
    for (Index i = left.begin; i < left.end; ++i) rows.trial[i] = problem.counts[i] / problem.visits[old];
}

// Takes the switch and climbs on where f rises by it; else refuses it.
void try_switch(const TabularProblem& problem, RewardBiasedRows& rows, Index pair, TabularResult& at) {
    const Model& model = *rows.model;
    switch_to(problem, rows, pair);
    const double f = objective(problem, rows, rows.trial.data, rows.trial_policy.data);
    if (f > at.objective + tuning.rows_tie * (1.0 + vb::fabs(at.objective))) {
        copy(rows.trial.data, model.num_transitions, rows.p.data);
        copy(rows.trial_policy.data, model.num_states, rows.policy.data);
        fill<std::uint8_t>(rows.refused.data, model.num_pairs, 0);
        at = climb(problem, rows);
    } else {
        rows.refused[pair] = 1;
        at.objective = objective(problem, rows, rows.p.data, rows.policy.data);
    }
}

}  // namespace

RewardBiasedRows make_reward_biased_rows(Arena& arena, const Model& model, Method method) {
    RewardBiasedRows rows;
    rows.model = &model;
    rows.planner = make_planner(arena, model, method);
    rows.lu = make_factors(arena, rows.planner);
    rows.p = arena.take<double>(model.num_transitions);
    rows.policy = arena.take<Index>(model.num_states);
    rows.V = arena.take<double>(model.num_states);
    rows.w = arena.take<double>(model.num_states);
    rows.gain = arena.take<double>(model.num_transitions);
    rows.target = arena.take<double>(model.num_transitions);
    rows.trial = arena.take<double>(model.num_transitions);
    rows.trial_policy = arena.take<Index>(model.num_states);
    rows.refused = arena.take<std::uint8_t>(model.num_pairs);
    if (!arena.failed()) first_allowed(model, rows.policy.data);
    return rows;
}

void begin_uniform(RewardBiasedRows& rows) {
    for (Index pair = 0; pair < rows.model->num_pairs; ++pair) {
        const Span span = span_of(*rows.model, pair);
        const double share = 1.0 / static_cast<double>(span.end - span.begin);
        for (Index i = span.begin; i < span.end; ++i) rows.p[i] = share;
    }
}

TabularResult solve(const TabularProblem& problem, RewardBiasedRows& rows) {
    fill(rows.V.data, rows.V.size, 0.0);  // sweeps start from it: nothing of the last problem may remain
    fill<std::uint8_t>(rows.refused.data, rows.refused.size, 0);
    make_possible(problem, rows);
    TabularResult at = climb(problem, rows);
    for (Index k = 0; k < tuning.rows_switches; ++k) {
        const Index pair = best_switch(problem, rows);
        if (pair < 0) break;
        try_switch(problem, rows, pair, at);
    }
    return at;
}

}  // namespace vb
