// Certificates, as C sees them.
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "certifying/branch_and_bound.hpp"
#include "common/tuning.hpp"
#include "model/build_model.hpp"

using namespace vb;

namespace {

bool objective_fits(const Model& model, const vb_certificate_task& task) {
    if (task.counts == nullptr || task.num_observed < 0 || task.num_observed > model.num_transitions) return false;
    if (!is_given(task.observed, task.num_observed)) return false;
    if (!all_within(task.observed, task.num_observed, model.num_transitions)) return false;
    return not_negative(task.ridge) && not_negative(task.bias) && task.state >= 0 && task.state < model.num_states;
}

bool triangulation_fits(const FeasibleSet& set, const vb_certificate_task& task) {
    if (task.num_points < 1 || task.num_cells < 1 || task.most_bisections < 0) return false;
    if (!is_given(task.points, set.num_free) || task.cells == nullptr) return false;
    if (task.num_points > tuning.limit_numbers || task.num_cells > tuning.limit_numbers) return false;
    return all_within(task.cells, task.num_cells * (set.num_free + 1), task.num_points);
}

// Whether the room that is asked for can be counted at all.
bool room_fits(const Model& model, const FeasibleSet& set, const vb_certificate_task& task) {
    const Index widest = larger(model.num_transitions, larger(set.dimension, model.num_states)) + 1;
    const Index most = tuning.limit_numbers / widest;
    return task.most_bisections < most / 2 && task.num_points < most / 2 && task.num_cells < most / 2;
}

void fill_triangulation(const vb_certificate_task& task, CertificateWork& work) {
    const Vertices& vertices = work.vertices;
    copy(task.points, task.num_points * vertices.y.cols, vertices.y.data);
    fill<Index>(vertices.policy.data, task.num_points * vertices.policy.cols, 0);
    copy(task.cells, task.num_cells * work.cells.corners.cols, work.cells.corners.data);
}

Objective objective_of(const vb_certificate_task& task) {
    Objective objective;
    objective.counts = task.counts;
    objective.observed = task.observed;
    objective.num_observed = task.num_observed;
    objective.ridge = task.ridge;
    objective.bias = task.bias;
    objective.state = task.state;
    return objective;
}

}  // namespace

extern "C" {

vb_status vb_certify(const vb_model* model, const vb_certificate_task* task, vb_certificate* certificate,
                     double* theta) {
    if (model == nullptr || task == nullptr || certificate == nullptr || theta == nullptr) return VB_BAD_ARGUMENT;
    const KnownModel& known = model->known;
    const bool numbers = !vb::isnan(task->best) && task->best < kInfinity && not_negative(task->tolerance);
    const bool fits = objective_fits(known.model, *task) && triangulation_fits(known.set, *task);
    if (!numbers || !fits) return VB_BAD_ARGUMENT;
    if (!room_fits(known.model, known.set, *task)) return VB_OUT_OF_MEMORY;
    const Problem problem = {known.model, known.set, objective_of(*task)};
    Arena arena;
    CertificateWork work =
        make_certificate_work(arena, problem, task->num_points, task->num_cells, task->most_bisections);
    if (arena.failed()) return VB_OUT_OF_MEMORY;
    fill_triangulation(*task, work);
    const Certificate found = branch_and_bound(problem, task->num_points, task->best, task->tolerance, work);
    *certificate = {found.bound, found.best, found.cells, found.vertex >= 0};
    if (found.vertex >= 0) copy(work.vertices.theta[found.vertex], known.set.dimension, theta);
    return code(found.status);
}

}  // extern "C"
