// The Markov chain of one policy: the rows of gamma P_pi, copied together so that sweeps read memory in order.
#pragma once

#include "common/arena.hpp"
#include "linalg/product.hpp"
#include "model/model.hpp"

namespace vb {

// sum of weight[i] V[where[i]] over begin <= i < end. Rows are short as a rule and V is read here and there, so that
// vectors would cost more than they save: two plain sums, in an order of their own.
inline double sum_of_products(const double* weight, const std::int32_t* where, Index begin, Index end, const double* V) {
    double one = 0.0, two = 0.0;
    Index i = begin;
    for (; i + 4 <= end; i += 4) {
        one = fused(weight[i], V[where[i]], one);
        two = fused(weight[i + 1], V[where[i + 1]], two);
        one = fused(weight[i + 2], V[where[i + 2]], one);
        two = fused(weight[i + 3], V[where[i + 3]], two);
        __asm__("" : "+r"(i));  // keeps the compiler from gathering
    }
    for (; i < end; ++i) {
        one = fused(weight[i], V[where[i]], one);
        __asm__("" : "+r"(i));
    }
    return one + two;
}

// The row of state s is begin[s] .. end[s]; it has room for the longest of its pairs. Where every pair leads to all
// states, p is a matrix, and the rows of the policy are read where they are.
struct Chain {
    Index num_states = 0;
    double discount = 0.0;
    const double* full = nullptr;   // p, (pairs, S), or null: then the copies below hold
    View<std::int32_t> begin, end;  // (S,)
    View<std::int32_t> pair;        // (S,) the pair of the policy, or -1 where it was not copied yet
    View<std::int32_t> successor;   // up to the most transitions that a policy can have
    Vector weight;                  // gamma p
    Vector gain;                    // (S,) R(s, pi(s))
    bool descending = false;        // the order of ordered sweeps
    Index strands = 1;              // runs of states that take turns in them, so that no state waits for the one before

    const double* full_row(Index s) const { return full + pair[s] * num_states; }

    // gamma sum_s' P_pi(s'|s) V(s')
    double ahead(Index s, const double* V) const {
        if (full != nullptr) return discount * long_dot(full_row(s), V, num_states);
        return sum_of_products(weight.data, successor.data, begin[s], end[s], V);
    }

    // out += value gamma P_pi(.|s)
    void spread_from(Index s, double value, double* out) const {
        if (full != nullptr) {
            add_scaled(discount * value, full_row(s), num_states, out);
            return;
        }
        for (Index i = begin[s]; i < end[s]; ++i) out[successor[i]] = fused(weight[i], value, out[successor[i]]);
    }

    // gamma P_pi(s|s)
    double stays(Index s) const {
        if (full != nullptr) return discount * full_row(s)[s];
        double total = 0.0;
        for (Index i = begin[s]; i < end[s]; ++i) total += successor[i] == s ? weight[i] : 0.0;
        return total;
    }
};

// `full`: whether every pair leads to all states, in order.
Chain make_chain(Arena& arena, const Model& model, bool full);

// Forgets what was copied: these probabilities hold from now on.
void begin_chain(Chain& chain, const double* p);

// Copies the pairs of the policy that are not there already; `reward` is R(s,a) of every pair.
void follow(Chain& chain, const Model& model, const double* p, const double* reward, const Index* policy);

// Chooses the order in which sweeps pass on most at once.
void find_order(Chain& chain);

// V = gain + gamma P_pi V in place, state by state in that order, so that later states see what earlier ones have
// become (Gauss-Seidel); then V is lifted by a constant, after which the residual gain + gamma P_pi V - V of a sample of
// states has mean 0. Returns a bound on the spread of the residual.
double ordered_sweep(const Chain& chain, const double* gain, double* V);

// out = gain + gamma P_pi V. out must not be V.
void chain_sweep(const Chain& chain, const double* gain, const double* V, double* out);

// Both for kTogether columns side by side: gain, X and out are (S, kTogether). `left` becomes the bounds.
inline constexpr Index kTogether = 4;
void ordered_sweep_columns(const Chain& chain, const double* gain, double* X, double* left);
void chain_sweep_columns(const Chain& chain, const double* gain, const double* X, double* out);

// out += gamma P_pi' w
void add_following(const Chain& chain, const double* w, double* out);

// Moves the rest r, what w still lacks in e = w - gamma P_pi' w + r, into w state by state, in the other order: what
// follows on states that are yet to come moves with them. Keeps the equation.
void push_rest(const Chain& chain, double* rest, double* w);

// The least and the greatest of `after - before`.
struct Range {
    double low;
    double high;

    double spread() const { return high - low; }
    double middle() const { return 0.5 * (low + high); }
};
Range change_between(const double* before, const double* after, Index n);

}  // namespace vb
