#include "certifying/value_excess.hpp"

#include <type_traits>

#include "common/tuning.hpp"
#include "linalg/lu.hpp"

namespace vb {

namespace {

// Loops over lanes are compiled for the usual numbers of them, and once for any.
template <Index lanes>
using Fixed = std::integral_constant<Index, lanes>;

// How many lanes are looked at together.
template <class Lanes>
constexpr Index kSpan = 4;
template <Index lanes>
constexpr Index kSpan<Fixed<lanes>> = lanes;

// The simplex's vertices side by side.
void gather(const Model& model, const Vertices& vertices, const Index* cell, ValueExcessWork& work) {
    const Index lanes = work.lanes;
    for (Index corner = 0; corner < work.corners; ++corner) {
        const double *p = vertices.p[cell[corner]], *V = vertices.V[cell[corner]];
        for (Index i = 0; i < model.num_transitions; ++i) {
            work.p.data[i * lanes + corner] = p[i];
            work.gain.data[i * lanes + corner] = model.gain(i, V);
        }
        for (Index s = 0; s < model.num_states; ++s) work.V[s * lanes + corner] = 0.5 * V[s];
    }
}

// defect = delta_vu of a pair (s, a), all v and u.
template <class Lanes>
void defects_of(const Model& model, Index s, Index pair, ValueExcessWork& work, Lanes lanes) {
    double* defect = work.defect.data + pair * lanes * lanes;
    const double* V = work.V.data + s * lanes;
    fill(defect, lanes * lanes, 0.0);
    for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
        const double *p = work.p.data + i * lanes, *gain = work.gain.data + i * lanes;
        for (Index v = 0; v < lanes; ++v) {
            for (Index u = 0; u < lanes; ++u) defect[v * lanes + u] = fused(p[v], gain[u], defect[v * lanes + u]);
        }
    }
    for (Index v = 0; v < lanes; ++v) {
        for (Index u = 0; u <= v; ++u) {
            const bool real = v < work.corners;
            const double cross = 0.5 * (defect[v * lanes + u] + defect[u * lanes + v]);
            const double delta = real ? model.reward[pair] + cross - V[v] - V[u] : -kInfinity;
            defect[v * lanes + u] = defect[u * lanes + v] = delta;
        }
    }
}

// ahead = gamma/2 P_v c of every pair and vertex
template <class Lanes>
void look_ahead(const Model& model, ValueExcessWork& work, Lanes lanes) {
    for (Index pair = 0; pair < model.num_pairs; ++pair) {
        double* ahead = work.ahead.data + pair * lanes;
        fill<double>(ahead, lanes, 0.0);
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            const double c = 0.5 * model.discount * work.c[model.successor[i]];
            const double* p = work.p.data + i * lanes;
            for (Index v = 0; v < lanes; ++v) ahead[v] = fused(c, p[v], ahead[v]);
        }
    }
}

// The best of all choices in a state.
template <class Lanes>
double best_value(const Model& model, Index s, const ValueExcessWork& work, Lanes lanes) {
    double best = -kInfinity;
    for (Index pair = model.pair(s, 0); pair < model.pair(s + 1, 0); ++pair) {
        const double *defect = work.defect.data + pair * lanes * lanes, *ahead = work.ahead.data + pair * lanes;
        for (Index first = 0; first < lanes; first += kSpan<Lanes>) {  // a few maxima at a time, one for each u
            double top[kSpan<Lanes>];
            fill(top, kSpan<Lanes>, -kInfinity);
            for (Index v = 0; v < lanes; ++v) {
                const double *own = defect + v * lanes + first, after = ahead[v];
                for (Index k = 0; k < kSpan<Lanes>; ++k) top[k] = larger(top[k], own[k] + after);
            }
            for (Index k = 0; k < kSpan<Lanes>; ++k) best = larger(best, top[k] + ahead[first + k]);
        }
    }
    return best;
}

// The choice that attains it.
void choose_best(const Model& model, Index s, ValueExcessWork& work) {
    const Index lanes = work.lanes;
    double best = -kInfinity;
    for (Index pair = model.pair(s, 0); pair < model.pair(s + 1, 0); ++pair) {
        const double *defect = work.defect.data + pair * lanes * lanes, *ahead = work.ahead.data + pair * lanes;
        for (Index v = 0; v < work.corners; ++v) {
            for (Index u = 0; u <= v; ++u) {
                const double value = defect[v * lanes + u] + ahead[v] + ahead[u];
                if (!(value > best) && best > -kInfinity) continue;
                best = value;
                work.pair[s] = pair;
                work.one[s] = v;
                work.two[s] = u;
            }
        }
    }
}

struct Improvement {
    bool changed = false;
    double margin = 0.0;  // max (T c - c), at least 0
};

// Takes better choices where there are some.
template <class Lanes>
Improvement improve(const Model& model, ValueExcessWork& work, Lanes lanes) {
    look_ahead(model, work, lanes);
    Improvement found;
    for (Index s = 0; s < model.num_states; ++s) {
        const double gain = best_value(model, s, work, lanes) - work.c[s];
        found.margin = larger(found.margin, gain);
        if (gain > tuning.excess_improves) {
            found.changed = true;
            choose_best(model, s, work);
        }
    }
    return found;
}

// c of the choices in force: c = delta + gamma (P_v + P_u)/2 c.
void evaluate_choices(const Model& model, ValueExcessWork& work) {
    const Index lanes = work.lanes;
    fill(work.lu.data, work.lu.rows * work.lu.cols, 0.0);
    for (Index s = 0; s < model.num_states; ++s) {
        const Index pair = work.pair[s], v = work.one[s], u = work.two[s];
        double* row = work.lu[s];
        row[s] = 1.0;
        for (Index i = model.pair_begin[pair]; i < model.pair_begin[pair + 1]; ++i) {
            const double* p = work.p.data + i * lanes;
            row[model.successor[i]] -= 0.5 * model.discount * (p[v] + p[u]);
        }
        work.c[s] = work.defect[(pair * lanes + v) * lanes + u];
    }
    lu_factor(work.lu);
    lu_solve(work.lu, work.c.data);
}

template <class Lanes>
void iterate(const Model& model, ValueExcessWork& work, Lanes lanes) {
    for (Index s = 0; s < model.num_states; ++s) {
        for (Index a = 0; a < model.num_actions; ++a) defects_of(model, s, model.pair(s, a), work, lanes);
    }
    fill(work.ahead.data, work.ahead.rows * work.ahead.cols, 0.0);
    for (Index s = 0; s < model.num_states; ++s) choose_best(model, s, work);
    Improvement found;
    for (Index k = 0; k < tuning.excess_rounds; ++k) {
        evaluate_choices(model, work);
        found = improve(model, work, lanes);
        if (!found.changed) break;
    }
    // Whatever is left of T c - c is paid for everywhere.
    for (Index s = 0; s < model.num_states; ++s) work.c[s] += found.margin / (1.0 - model.discount);
}

Index lanes_for(Index corners) {
    if (corners <= 2) return corners;
    return (corners + 3) / 4 * 4;
}

}  // namespace

ValueExcessWork make_value_excess_work(Arena& arena, const Model& model, Index corners) {
    const Index lanes = lanes_for(corners), states = model.num_states;
    ValueExcessWork work;
    work.corners = corners;
    work.lanes = lanes;
    work.p = arena.matrix(model.num_transitions, lanes);
    work.gain = arena.matrix(model.num_transitions, lanes);
    work.V = arena.take<double>(states * lanes);
    work.defect = arena.take<double>(model.num_pairs * lanes * lanes);
    work.ahead = arena.matrix(model.num_pairs, lanes);
    work.c = arena.take<double>(states);
    work.pair = arena.take<Index>(states);
    work.one = arena.take<Index>(states);
    work.two = arena.take<Index>(states);
    work.lu = arena.matrix(states, states);
    return work;
}

void value_excess(const Model& model, const Vertices& vertices, const Index* cell, ValueExcessWork& work) {
    gather(model, vertices, cell, work);
    switch (work.lanes) {
        case 1: return iterate(model, work, Fixed<1>{});
        case 2: return iterate(model, work, Fixed<2>{});
        case 4: return iterate(model, work, Fixed<4>{});
        case 8: return iterate(model, work, Fixed<8>{});
        default: return iterate(model, work, work.lanes);
    }
}

}  // namespace vb
