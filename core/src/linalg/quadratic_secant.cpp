// The update of Broyden, Fletcher, Goldfarb and Shanno in product form (Brodlie, Gourlay and Greenstadt, 1973).
//
// With K = Z (Z'BZ)^{-1} Z' = sum of z z' over the frame's rows z of the face, b = B s and s = K b,
//
//     z + <u, z> s     for every row z,       u = b / sqrt(<s,q> <s,b>) - q / <s,q>
//
// are the rows of the BFGS update of K, which maps q to s. They stay in the face, and K stays positive definite. Rows of active
// facets become orthogonal to q, as they were to b, which is what makes multipliers those at the end of a step.
#include "linalg/product.hpp"
#include "linalg/quadratic_run.hpp"

namespace vb {

namespace {

constexpr double kLeast = 1e-3;  // of the curvature that the frame has: less is left to a new program

}  // namespace

bool learn(const Secant& secant, Index n, double* scratch, QpWork& work) {
    const double* s = secant.step;
    const double known = dot(s, secant.image, n), shown = dot(s, secant.shown, n);
    if (!(shown > kLeast * known)) return false;
    const double a = 1.0 / vb::sqrt(known * shown), c = 1.0 / shown;
    for (Index j = 0; j < n; ++j) scratch[j] = a * secant.image[j] - c * secant.shown[j];
    const Matrix frame = sized(work.frame, n);
    for (Index k = 0; k < n; ++k) add_scaled(dot(scratch, frame[k], n), s, n, frame[k]);
    return true;
}

}  // namespace vb
