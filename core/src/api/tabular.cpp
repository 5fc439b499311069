// Reward-biased rows, as C sees them.
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "model/build_model.hpp"
#include "tabular/biased_pair.hpp"
#include "tabular/reward_biased_rows.hpp"

using namespace vb;

struct vb_rows {
    Arena arena;
    RewardBiasedRows rows;
};

namespace {

bool every_pair_leads_somewhere(const Model& model) {
    for (Index pair = 0; pair < model.num_pairs; ++pair) {
        if (model.pair_begin[pair] == model.pair_begin[pair + 1]) return false;
    }
    return true;
}

bool task_fits(const RewardBiasedRows& rows, const vb_rows_task& task) {
    if (task.counts == nullptr || task.visits == nullptr || task.limit < 0) return false;
    if (task.state < 0 || task.state >= rows.model->num_states) return false;
    if (!not_negative(task.bias) || !not_negative(task.tolerance)) return false;
    return all_within(rows.policy.data, rows.policy.size, rows.model->num_actions);
}

}  // namespace

extern "C" {

vb_status vb_rows_new(const vb_model* model, int32_t factors, vb_rows** rows) {
    if (rows == nullptr) return VB_BAD_ARGUMENT;
    *rows = nullptr;
    if (model == nullptr || !every_pair_leads_somewhere(model->known.model)) return VB_BAD_ARGUMENT;
    vb_rows* made = make_handle<vb_rows>();
    if (made == nullptr) return VB_OUT_OF_MEMORY;
    made->rows = make_reward_biased_rows(made->arena, model->known.model, factors_if(factors != 0));
    if (made->arena.failed()) {
        free_handle(made);
        return VB_OUT_OF_MEMORY;
    }
    begin_uniform(made->rows);
    *rows = made;
    return VB_OK;
}

void vb_rows_free(vb_rows* rows) { free_handle(rows); }

vb_status vb_rows_look(vb_rows* rows, vb_rows_view* view) {
    if (rows == nullptr || view == nullptr) return VB_BAD_ARGUMENT;
    *view = {rows->rows.p.data, rows->rows.policy.data};
    return VB_OK;
}

vb_status vb_rows_solve(vb_rows* rows, const vb_rows_task* task, vb_rows_result* result) {
    if (rows == nullptr || task == nullptr || result == nullptr) return VB_BAD_ARGUMENT;
    if (!task_fits(rows->rows, *task)) return VB_BAD_ARGUMENT;
    const TabularProblem problem = {task->counts, task->visits,    task->bias,
                                    task->state,  task->tolerance, task->limit};
    const TabularResult found = solve(problem, rows->rows);
    *result = {found.objective, found.gap};
    return VB_OK;
}

}  // extern "C"
