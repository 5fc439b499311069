#include "optimism/best_models.hpp"

#include "common/tuning.hpp"

namespace vb {

namespace {

// The problem of one pair.
struct PairProblem {
    BestModels& models;
    Index pair;
    Index number;        // of the block
    const Block& block;
    const double* c;     // (free,)
    double scale;        // of V
};

// c = basis' sum_s' phi(s'|s,a) (r + gamma V(s')): the gain of the pair in the coordinates y.
void find_gain(BestModels& models, const Block& block, Index pair, const double* V) {
    const Model& model = *models.model;
    const Features& features = model.features;
    double* c = models.gain.data;
    const Index first = model.pair_begin[pair], last = model.pair_begin[pair + 1], m = block.num_free;
    fill(c, m, 0.0);
    if (features.projected != nullptr) {
        for (Index i = first; i < last; ++i) add_scaled(model.gain(i, V), features.projected + i * m, m, c);
        return;
    }
    double* theta = models.theta.data;
    for (Index k = 0; k < block.num_coordinates; ++k) theta[block.coordinates[k]] = 0.0;
    for (Index i = first; i < last; ++i) features.add(i, model.gain(i, V), theta);
    for (Index k = 0; k < block.num_coordinates; ++k) {
        add_scaled(theta[block.coordinates[k]], block.basis + k * m, m, c);
    }
}

// p of the pair's transitions at theta = center + basis y.
void find_probabilities(BestModels& models, const Block& block, Index pair, double* p) {
    const Model& model = *models.model;
    const double* y = models.chosen_for(pair);
    double* theta = models.theta.data;
    for (Index k = 0; k < block.num_coordinates; ++k) {
        const Index at = block.coordinates[k];
        theta[at] = models.set->center[at] + dot(block.basis + k * block.num_free, y, block.num_free);
    }
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) p[i] = model.features.along(i, theta);
}

// The best y of one ellipsoid, into its warm.y.
SupportEnd best_in_one(const PairProblem& problem, const ConfidenceLayer& layer) {
    const Block& block = problem.block;
    const Index m = block.num_free, at = problem.pair * problem.models.set->most_free;
    const Ellipsoid ellipsoid = layer.placed.in_block(block, problem.number);
    double* y = layer.warm.y.data + at;
    const double worth = vb::sqrt(square_length(ellipsoid.root, problem.c) * ellipsoid.room);
    if (worth <= tuning.models_indifferent * problem.scale) {
        copy(layer.placed.near.data + block.first_free, m, y);
        return {0.0};
    }
    const double* slack = layer.placed.slack.data + block.first_facet;
    const SupportProblem inner{problem.c, ellipsoid, block.facets, slack, tuning.models_close * problem.scale};
    double& s = layer.warm.s[problem.pair];
    Index& num_active = layer.warm.num_active[problem.pair];
    Index* active = layer.warm.active.data + at;
    if (s == kInfinity && num_active == m) {
        const double gap = vertex_gap(inner, active, y, problem.models.vertex);
        if (gap <= inner.close) return {gap};
    }
    add_scaled(-1.0, ellipsoid.middle, m, y);
    SupportPoint point{y, active, num_active, s};
    const SupportEnd end = support(inner, point, problem.models.support);
    s = point.s;
    num_active = point.num_active;
    add_scaled(1.0, ellipsoid.middle, m, y);
    return end;
}

// Whether y lies in all ellipsoids but the given one, which it is known to lie in.
bool in_others(const PairProblem& problem, const double* y, Index but) {
    const BestModels& models = problem.models;
    for (Index l = 0; l < models.layers.size; ++l) {
        if (l == but) continue;
        const Ellipsoid ellipsoid = models.layers[l]->placed.in_block(problem.block, problem.number);
        if (excess(ellipsoid, y, models.support.step.data) > tuning.models_inside * ellipsoid.room) return false;
    }
    return true;
}

// The best y that all ellipsoids share, into chosen; returns the gap, infinite where no common point was found.
double best_in_intersection(const PairProblem& problem) {
    BestModels& models = problem.models;
    IntersectionWork& work = models.intersection;
    const Index m = problem.block.num_free, count = models.layers.size, tight = models.tight[problem.pair];
    for (Index l = 0; l < count; ++l) {
        models.in_block[l] = models.layers[l]->placed.in_block(problem.block, problem.number);
        work.here.mu.data[l] = 0.0;
    }
    const Ellipsoid& one = models.in_block[tight];
    const double unit = vb::sqrt(one.room / square_length(one.root, problem.c));
    work.here.mu.data[tight] = 1.0 / smaller(models.layers[tight]->warm.s[problem.pair], tuning.ellipsoid_far * unit);
    work.num_active = 0;
    const IntersectionProblem inner{problem.c, {models.in_block.data, count}, problem.block.facets};
    const double gap = intersect(inner, work, models.support.qp);
    if (gap < kInfinity) copy(work.here.y.data, m, models.chosen_for(problem.pair));
    return gap;
}

// The best y of all ellipsoids together, into chosen.
//
// The best of one that lies in all others is the best of all. Where there is none, and where no common point is found
// either, the best of the tightest one is taken, which is no less optimistic.
ChoiceEnd best_in_all(const PairProblem& problem) {
    BestModels& models = problem.models;
    const Index m = problem.block.num_free, count = models.layers.size, pair = problem.pair;
    const Index at = pair * models.set->most_free, start = models.tight[pair] % count;
    double least = kInfinity;
    ChoiceEnd of_tight;
    for (Index turn = 0; turn < count; ++turn) {
        const Index l = (start + turn) % count;
        const SupportEnd end = best_in_one(problem, *models.layers[l]);
        const double* y = models.layers[l]->warm.y.data + at;
        const double value = dot(problem.c, y, m);
        const bool best_of_all = count == 1 || in_others(problem, y, l);
        if (value < least || best_of_all) {
            least = value;
            models.tight[pair] = l;
            of_tight = {end.gap, status_of(end.status)};
        }
        if (best_of_all) {
            copy(y, m, models.chosen_for(pair));
            return of_tight;
        }
    }
    const double gap = best_in_intersection(problem);
    if (gap < kInfinity) return {gap};
    copy(models.layers[models.tight[pair]]->warm.y.data + at, m, models.chosen_for(pair));
    return of_tight;
}

// By how much y must shrink towards 0, which is well inside, so that every facet holds: vertices are known to about
// 1e-9 only.
double shrink_inside(const Facets& facets, const double* y, double* values) {
    facet_values(facets, facets.offsets, y, values);
    double shrink = 0.0;
    for (Index i = 0; i < facets.count; ++i) {
        if (values[i] < 0.0) shrink = larger(shrink, values[i] / (values[i] - facets.offsets[i]));
    }
    return shrink > 1e-13 ? shrink : 0.0;
}

bool same(const double* a, const double* b, Index n) {
    for (Index i = 0; i < n; ++i) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

// Moves the y chosen for a pair inside P; returns how much of <c, y> that cost.
double pull_inside(const PairProblem& problem) {
    BestModels& models = problem.models;
    const Index m = problem.block.num_free;
    double *y = models.chosen_for(problem.pair), *seen = models.pulled.y.data + problem.pair * models.set->most_free;
    double& shrink = models.pulled.shrink[problem.pair];
    if (!same(y, seen, m)) {
        copy(y, m, seen);
        shrink = shrink_inside(problem.block.facets, y, models.support.here.data);
    }
    if (shrink == 0.0) return 0.0;
    const double worth = dot(problem.c, y, m);
    for (Index j = 0; j < m; ++j) y[j] *= 1.0 - shrink;
    return larger(shrink * worth, 0.0);
}

}  // namespace

WarmStart make_warm_start(Arena& arena, Index pairs, Index most_free) {
    WarmStart warm;
    warm.s = arena.take<double>(pairs);
    warm.num_active = arena.take<Index>(pairs);
    warm.active = arena.take<Index>(pairs * most_free);
    warm.y = arena.take<double>(pairs * most_free);
    fill(warm.s.data, warm.s.size, 1.0);
    return warm;
}

BestModels make_best_models(Arena& arena, const Model& model, const FeasibleSet& set) {
    BestModels models;
    models.model = &model;
    models.set = &set;
    models.tight = arena.take<Index>(model.num_pairs);
    models.chosen = arena.take<double>(model.num_pairs * set.most_free);
    models.gain = arena.take<double>(set.most_free);
    models.theta = arena.take<double>(set.dimension);
    models.pulled.y = arena.take<double>(model.num_pairs * set.most_free);
    models.pulled.shrink = arena.take<double>(model.num_pairs);
    models.support = make_support_work(arena, set.most_free, set.most_facets);
    models.vertex = make_vertex_work(arena, set.most_free);
    fill(models.pulled.y.data, models.pulled.y.size, std::numeric_limits<double>::quiet_NaN());
    return models;
}

void make_room_for(Arena& arena, Index ellipsoids, BestModels& models) {
    models.in_block = arena.take<Ellipsoid>(ellipsoids);
    models.intersection = make_intersection_work(arena, ellipsoids, models.set->most_free);
}

ChoiceEnd choose_models(BestModels& models, const double* V, double* p) {
    const FeasibleSet& set = *models.set;
    const double scale = largest_size(V, models.model->num_states);
    ChoiceEnd worst;
    for (Index pair = 0; pair < models.model->num_pairs; ++pair) {
        const Index number = set.block_of_pair[pair];
        const Block& block = set.blocks[number];
        if (block.num_free > 0) {
            find_gain(models, block, pair, V);
            const PairProblem problem{models, pair, number, block, models.gain.data, scale};
            const ChoiceEnd end = best_in_all(problem);
            worst.gap = larger(worst.gap, end.gap + pull_inside(problem));
            if (worst.status == Status::ok) worst.status = end.status;
        }
        find_probabilities(models, block, pair, p);
    }
    return worst;
}

}  // namespace vb
