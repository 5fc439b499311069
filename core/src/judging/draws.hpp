// Policies judged by draws theta_1 .. theta_M of the model: what each loses in each of them, and what it would teach.
//
//     V*_m(s)                                                 the best value in draw m
//     D_m(pi) = V*_m(s) - V^pi_m(s)                           what pi loses there, from a state s on
//     I(s,a)  = mean_m KL(P_m(.|s,a) || P_mean(.|s,a))        what the draws disagree on in a pair, in nats
//     G(pi)   = sum_x w^pi(x) I(x,pi(x))                      by the discounted visits from s on, under the mean model
//
// Models with few states are planned for by factors, one draw after another. For others four draws are swept side by side
// (quartet.hpp), and a loss is found by itself: with the advantages g = V* - Q*(., pi), it is (I - gamma P_pi)^{-1} g, which
// is 0 where pi is optimal, and as exact as it is large after a few sweeps. Where sweeps would take long, it and those
// after it go the planner's way. No array here has more than M (S + d) or a few times (S, A) numbers, besides p and what a quartet keeps.
#pragma once

#include "judging/quartet.hpp"
#include "planning/planner.hpp"

namespace vb {

inline constexpr Index kTold = 8;  // more policies than that take turns

struct Draws {
    const Model* model = nullptr;
    Index count = 0;            // M
    bool side_by_side = false;
    Matrix theta;               // (M, d)
    Matrix best;                // (M, S) V*
    Grid<Index> policy;         // (M, S) that is optimal
    Vector information;         // (pairs,) I
    View<std::uint8_t> informed;  // (pairs,) whether that was computed for these draws
    Vector mean;                // (d,)
    Vector turned;              // (d, M) theta by columns
    Vector together;            // (M,) p of one transition
    Planner planner;            // for one model at a time: that of a draw, or the mean model
    Vector p;                   // (transitions,)
    Matrix lu;
    Indices held;               // (S,)
    Vector V, visits;           // (S,)
    Matrix lost;                // (kTold, S) where sweeps of one draw after another begin, for as many policies, or empty
    Quartet four;
};

Draws make_draws(Arena& arena, const Model& model, Index count);

// V* and its policy for some draws, from what is there on; by sweeps to within values_precision. What was known of all draws
// together is forgotten.
void plan_draws(Draws& draws, ConstIndices which);
double values_precision(const Draws& draws);

// Forgets what is known of all draws together: some have changed.
void forget_information(Draws& draws);

// What is asked of policies, (K, S), from a state on.
struct Question {
    Grid<const Index> policies;
    Index state;
};

// loss, (K, M): what each policy loses in each draw.
void find_losses(Draws& draws, const Question& asked, Matrix loss);

// taught, (K,): what each policy teaches.
void find_taught(Draws& draws, const Question& asked, double* taught);

// I of all pairs.
void find_information(Draws& draws);

}  // namespace vb
