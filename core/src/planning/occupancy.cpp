// Discounted visits: the adjoint of policy evaluation.
#include "linalg/lu.hpp"
#include "planning/planner.hpp"
#include "planning/sweeps.hpp"

namespace vb {

void occupancy(Planner& planner, const double* p, const Index* policy, Index state, double* w) {
    if (!planner.factors()) {
        occupancy_by_sweeps(planner, p, policy, state, w);
        return;
    }
    fill(w, planner.model->num_states, 0.0);
    w[state] = 1.0;
    lu_solve_transposed(planner.lu, w);
}

}  // namespace vb
