// The largest <c, theta> over P within one ellipsoid |theta - estimate|^2 in Sigma <= radius^2, in one block.
//
// In a block, theta = center + basis y. With H = basis' Sigma basis, `middle` the y nearest to the estimate and `room`
// what is left of radius^2 there (the distance that y cannot change, and that of the other blocks, taken off), the
// problem is
//
//     maximise <c, d>   subject to   d' H d <= room,   normals d + slack >= 0,      d = y - middle.
//
// Its Lagrangian in the ellipsoid alone is a quadratic program, d(s) = argmax s <c, d> - d' H d / 2 over the facets,
// and d(s) is piecewise linear: while the same facets are active, d(s)' H d(s) = const + kappa s^2 with kappa the
// square length of the part of c along those facets. So s is found by solving for it exactly on the active facets at
// hand, until they repeat: no facets active is the closed form, kappa = 0 with multipliers that grow with s is a vertex
// of P, which stays the answer for every larger s. Every s gives a proof: no point has more than
// <c, d> + (room - d'Hd)/(2s).
#pragma once

#include "common/arena.hpp"
#include "common/status.hpp"
#include "common/tuning.hpp"
#include "linalg/quadratic_program.hpp"

namespace vb {

// {y: |y - middle|^2 in H <= room} in the free coordinates of one block.
struct Ellipsoid {
    ConstMatrix H;                   // (m, m)
    ConstMatrix root;                // L^{-1} of H = L L'
    const double* middle = nullptr;  // (m,)
    double room = 0.0;
};

// d' H d
double quadratic_form(ConstMatrix H, const double* d);

// |y - middle|^2 in H - room; q = H (y - middle)
double excess(const Ellipsoid& ellipsoid, const double* y, double* q);

// c' H^{-1} c, with root = L^{-1} of H = L L'
double square_length(ConstMatrix root, const double* c);

struct SupportProblem {
    const double* c;             // (m,)
    const Ellipsoid& ellipsoid;  // its middle is where d = 0
    const Facets& facets;        // only the normals are used
    const double* slack;         // (facets,) at d = 0
    double close;                // a gap that is close enough
};

// Where a search starts, and where it has ended.
struct SupportPoint {
    double* d;         // (m,)
    Index* active;     // (m,) facets to try first; the active ones
    Index num_active;
    double s;          // infinity: d starts, or ends, as a maximiser over all facets, ellipsoid or not
};

// The status of a quadratic program in the words of the interface.
Status status_of(QpStatus status);

// No point has more than <c, d> + gap; the gap is infinite where a quadratic program failed, and the status says how.
struct SupportEnd {
    double gap;
    QpStatus status = QpStatus::solved;
};

struct SupportWork {
    Vector target;      // (m,) s c
    Vector along;       // (m,) c in the frame of the last program
    Vector step;        // (m,)
    Vector multiplier;  // (m + 1,)
    Vector here;        // (facets,)
    QpWork qp;
    Frame frame;        // of the last program
};

SupportWork make_support_work(Arena& arena, Index most_free, Index most_facets);

// Along faces that are nearly flat and reach far, s is not followed beyond what arithmetic can resolve, and the gap
// says what may be left. The set must not be empty.
SupportEnd support(const SupportProblem& problem, SupportPoint& at, SupportWork& work);

// d becomes the point next to the middle, in the norm of H, at which every facet holds.
QpStatus nearest(const Ellipsoid& ellipsoid, const Facets& facets, const double* slack, SupportPoint& at,
                 SupportWork& work);

}  // namespace vb
