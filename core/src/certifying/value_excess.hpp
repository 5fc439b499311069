// By how much V* may exceed its linear interpolation on a simplex.
//
// With vertices v and barycentric coordinates lambda,
//
//     V*(s; theta) <= sum_v lambda_v V_v(s) + c(s),      V_v = V*(.; v),
//
// where c is the least solution of c(s) >= delta_vu(s,a) + gamma (P_v + P_u)/2 (s,a) c for every action and every pair
// of vertices, and
//
//     delta_vu(s,a) = (R_v + R_u)/2 + gamma (P_v V_u + P_u V_v)/2 - (V_v + V_u)/2.
//
// For then W(theta) = sum lambda_v V_v + c satisfies W >= T_theta W: both sides are quadratic forms in lambda, and the
// inequality holds for each coefficient. c is the optimal value of a decision process with actions (a, v, u), found by
// policy iteration. It is of second order in the size of the simplex, because linear interpolation is.
#pragma once

#include "certifying/vertices.hpp"

namespace vb {

// Room for one simplex. Its vertices stand side by side in `lanes`, as many as vector units like: numbers that belong
// to no vertex are 0, defects that belong to no two are minus infinity.
struct ValueExcessWork {
    Index corners = 0;      // vertices of a simplex
    Index lanes = 0;
    Matrix p;               // (transitions, lanes)
    Matrix gain;            // (transitions, lanes) r(s,a,s') + gamma V_v(s')
    Vector V;               // (S, lanes) / 2
    Vector defect;          // (pairs, lanes, lanes) delta
    Matrix ahead;           // (pairs, lanes) gamma/2 P_v c
    Vector c;               // (S,)
    Indices pair, one, two; // (S,) the choice in force: pair (s, a), vertices v and u
    Matrix lu;              // (S, S)
};

ValueExcessWork make_value_excess_work(Arena& arena, const Model& model, Index corners);

// work.c = c on the simplex with these vertices, made valid against rounding.
void value_excess(const Model& model, const Vertices& vertices, const Index* cell, ValueExcessWork& work);

}  // namespace vb
