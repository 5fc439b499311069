#include "climbing/starts.hpp"

namespace vb {

namespace {

constexpr double kShares[kBetween] = {0.05, 0.5, 0.95};  // how far from the incumbent towards the best

// y = the point that far from the incumbent towards the best
void find_between(const Pool& pool, const Starts& starts, double share, double* y) {
    for (Index j = 0; j < starts.best.size; ++j) y[j] = pool.y[0][j] + share * (starts.best[j] - pool.y[0][j]);
}

void try_pair(const Problem& problem, Pool& pool, Index pair, Workspace& work) {
    const Index actions = problem.model.num_actions;
    try_switch(problem, pool, {pair / actions, pair % actions}, work);
}

}  // namespace

void try_starts(const Problem& problem, Pool& pool, const Starts& starts, const double* likely, Index most,
                Workspace& work) {
    const Index between = starts.best.empty() ? 0 : kBetween;
    for (Index i = 0; i < between; ++i) find_between(pool, starts, kShares[i], starts.between[i]);
    for (Index i = 0; i < most && i < 1 + between + starts.fixed.rows; ++i) {
        const double* y = i == 0 ? likely : i <= between ? starts.between[i - 1] : starts.fixed[i - 1 - between];
        try_start(problem, pool, y, work);
    }
}

void try_one_start(const Problem& problem, Pool& pool, const Starts& starts, Index turn, Workspace& work) {
    if (!starts.best.empty() && turn % 4 == 0) {
        find_between(pool, starts, kShares[turn / 4 % kBetween], starts.between[0]);
        try_start(problem, pool, starts.between[0], work);
    } else if (starts.fixed.rows > 0) {
        try_start(problem, pool, starts.fixed[turn % starts.fixed.rows], work);
    }
}

void try_all_switches(const Problem& problem, Pool& pool, const Starts& starts, Workspace& work) {
    const Index count = starts.pairs.size, actions = problem.model.num_actions;
    if (count > kFewPairs) {
        for (Index pair : starts.pairs) {
            if (pair / actions == problem.objective.state) try_pair(problem, pool, pair, work);
        }
    }
    const Index most = count > kFewPairs ? kFewPairs / 2 : count;
    for (Index i = 0; i < most; ++i) try_pair(problem, pool, starts.pairs[i], work);
}

void try_actions(const Problem& problem, Pool& pool, Workspace& work) {
    const Index actions = problem.model.num_actions;
    for (Index a = 0; a < actions && a < kQuickStarts; ++a) try_switch(problem, pool, {problem.objective.state, a}, work);
}

void try_one_switch(const Problem& problem, Pool& pool, const Starts& starts, Index turn, Workspace& work) {
    const Index half = turn / 2;
    if (turn % 2 == 1) {
        try_switch(problem, pool, {problem.objective.state, half % problem.model.num_actions}, work);
    } else if (!starts.pairs.empty()) {
        try_pair(problem, pool, starts.pairs[half % starts.pairs.size], work);
    }
}

}  // namespace vb
