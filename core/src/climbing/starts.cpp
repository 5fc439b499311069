#include "climbing/starts.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

// y = the i-th point between the incumbent and the best
void find_between(const Pool& pool, const Starts& starts, Index i, double* y) {
    const double shares[kBetween] = {tuning.search_near_incumbent, tuning.search_between, tuning.search_near_best};
    const double share = shares[i];
    for (Index j = 0; j < starts.best.size; ++j) y[j] = pool.y[0][j] + share * (starts.best[j] - pool.y[0][j]);
}

void try_pair(const Search& search, Index pair) {
    const Index actions = search.problem.model.num_actions;
    try_switch(search, {pair / actions, pair % actions});
}

}  // namespace

void try_starts(const Search& search, const Starts& starts, const double* likely, Index most) {
    const Index between = starts.best.empty() ? 0 : kBetween;
    for (Index i = 0; i < between; ++i) find_between(search.pool, starts, i, starts.between[i]);
    for (Index i = 0; i < most && i < 1 + between + starts.fixed.rows; ++i) {
        const double* y = i == 0 ? likely : i <= between ? starts.between[i - 1] : starts.fixed[i - 1 - between];
        try_start(search, y);
    }
}

void try_one_start(const Search& search, const Starts& starts, Index turn) {
    if (!starts.best.empty() && turn % 4 == 0) {
        find_between(search.pool, starts, turn / 4 % kBetween, starts.between[0]);
        try_start(search, starts.between[0]);
    } else if (starts.fixed.rows > 0) {
        try_start(search, starts.fixed[turn % starts.fixed.rows]);
    }
}

void try_all_switches(const Search& search, const Starts& starts) {
    const Index count = starts.pairs.size, actions = search.problem.model.num_actions;
    if (count > tuning.search_few_pairs) {
        for (Index pair : starts.pairs) {
            if (pair / actions == search.problem.objective.state) try_pair(search, pair);
        }
    }
    const Index most = count > tuning.search_few_pairs ? tuning.search_few_pairs / 2 : count;
    for (Index i = 0; i < most; ++i) try_pair(search, starts.pairs[i]);
}

void try_actions(const Search& search) {
    const Index actions = search.problem.model.num_actions;
    for (Index a = 0; a < actions && a < tuning.search_quick; ++a) try_switch(search, {search.problem.objective.state, a});
}

void try_one_switch(const Search& search, const Starts& starts, Index turn) {
    const Index half = turn / 2;
    if (turn % 2 == 1) {
        try_switch(search, {search.problem.objective.state, half % search.problem.model.num_actions});
    } else if (!starts.pairs.empty()) {
        try_pair(search, starts.pairs[half % starts.pairs.size]);
    }
}

}  // namespace vb
