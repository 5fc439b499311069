// All constants that were chosen, by measurement or by taste: type, name, value, unit, and a sentence that says what it is.
//
// Numbers that follow from a format, from a processor or from mathematics are not chosen, and stand where they are used. A part
// of something is in its unit ("of the residual"). Callers read the same table (api/tuning.cpp).
#pragma once

#include "common/view.hpp"

#define VB_TUNING(constant) \
    /* Planning: factors or sweeps (planning/method.cpp) */ \
    constant(Index, factors_most_states, 1000, "states", "up to this many, (S, S) factors of a policy are kept at all") \
    constant(Index, factors_plan_states, 200, "states", \
             "up to this many, one plan is found by factors; above, sweeps are faster") \
    constant(Index, factors_known_states, 32, "states", \
             "up to this many, a known model is planned for by factors: they cost no more than a few sweeps") \
    constant(double, factors_per_transition, 500.0, "S^3 (1 - gamma)", \
             "what all sweeps for one transition of a policy cost, where a model is planned for again and again (measured)") \
    constant(double, factors_per_l1_transition, 50.0, "S^3 (1 - gamma)", \
             "what all sweeps for one transition of a model cost, where L1 balls are planned for") \
    /* Planning: sweeps */ \
    constant(double, sweep_precision, 1e-11, "of 1/(1-gamma)", "the error of values by sweeps, unless less is asked for") \
    constant(Index, sweep_limit, 1'000'000, "sweeps", "after so many an evaluation ends, whatever it has reached") \
    constant(Index, sweep_inner, 20, "sweeps", "of the policy at hand between two Bellman sweeps, at most") \
    constant(Index, sweep_short_way, 200, "sweeps", "in a plan of a known model, after which another way is taken") \
    constant(Index, sweep_long_way, 10'000'000, "sweeps", "of a plan that has no other way, at most") \
    constant(double, sweep_enough, 0.3, "of the spread before", \
             "a policy is evaluated until the spread of changes is down to this") \
    constant(double, sweep_enough_of_few, 0.02, "of the spread before", "the same where few pairs are contested") \
    constant(double, sweep_few_contested, 0.25, "pairs per state", "up to so many contested pairs are few") \
    constant(Index, sweep_strands, 4, "runs of states", \
             "that take turns in a sweep where states lead to the next ones: a processor works on as many at once") \
    constant(Index, watch_begin, 4, "sweeps", \
             "the first ones, which are faster than the others, before convergence is watched") \
    constant(Index, watch_interval, 12, "sweeps", "from one look at the speed of convergence to the next") \
    constant(Index, watch_patience, 60, "sweeps", "so many that are still ahead are shorter than Krylov's way") \
    constant(Index, slow_chain_rounds, 8, "rounds", "of BiCGStab, each of which begins with the plain residual") \
    constant(Index, slow_chain_iterations, 400, "iterations", "in a round, at most") \
    constant(double, slow_chain_reduction, 1e-9, "of the residual", "less a round does not promise to leave") \
    constant(double, slow_chain_gained, 0.5, "of the residual", "rounds go on while each leaves at most this") \
    /* Planning: sparse factors */ \
    constant(double, direct_discount, 0.8, "gamma", "from which on sparse factors may be used without sweeps before") \
    constant(Index, direct_states, 32, "states", "from which on they may") \
    constant(Index, direct_near, 4, "states", "no further states lead, in a sample, where they are") \
    constant(Index, direct_sample, 256, "states", "in that sample") \
    constant(double, direct_per_sweep, 3.0, "products per transition and horizon 1/(1-gamma)", \
             "what sparse factors may take to be cheaper than sweeps (measured)") \
    constant(double, direct_per_transition, 1500.0, "products per transition", "the same for Krylov's way (measured)") \
    constant(double, direct_entry, 8.0, "transitions of a sweep", "what an entry of sparse factors costs (measured)") \
    constant(double, direct_product, 0.25, "transitions of a sweep", "what a product costs (measured)") \
    constant(double, direct_asked, 60.0, "sweeps", "in a plan, before it is asked what factors would cost ...") \
    constant(double, direct_ahead, 200.0, "sweeps", "... if so many are ahead") \
    constant(double, direct_tried, 2.0, "times the cost of factors", "so much is tried by sweeps first ...") \
    constant(double, direct_stuck, 4.0, "times as much", "where sweeps do not converge yet: many policies are still ahead") \
    constant(double, direct_policies, 4.0, "times the cost of factors", \
             "... and so much must be ahead: a few policies are evaluated before one is the best") \
    constant(double, direct_farthest, 1e5, "sweeps", "how far is looked ahead, and what factors may cost, at most") \
    constant(Index, direct_corrections, 3, "solves", "of one evaluation, at most: the later ones correct what rounding left") \
    constant(double, order_numbered, 30.0, "products per entry", \
             "an order that takes no more needs no better one") \
    constant(double, order_hub_least, 16.0, "neighbours", "a row with more may be a hub, which is taken last ...") \
    constant(double, order_hub_roots, 10.0, "square roots of the rows", "... if it has more than so many neighbours, too") \
    /* Planning: actions and policies */ \
    constant(Index, policies_most, 500, "policies", "a handful are needed; rounding could make two that tie alternate") \
    constant(double, policies_tie, 16.0, "epsilon (1 + |V|)", \
             "by so much another action must be better, or it ties with the one in force") \
    constant(double, policies_settled, 1e-12, "of 1 + |V|", "below this residual only ties alternate") \
    constant(double, actions_tie, 1e-12, "of 1 + |Q|", \
             "actions that are closer to the best tie with it; the lowest of them is chosen") \
    constant(double, distribution_rounding, 1e-9, "probability", \
             "by so much the probabilities of a pair may miss 1 in total") \
    /* Models: what is kept twice */ \
    constant(Index, projected_states, 1000, "states", "up to this many, dense features are kept in the coordinates y, too") \
    constant(Index, turned_numbers, 4'000'000, "numbers", "up to this many, normals and features are kept by columns, too") \
    constant(Index, turned_coordinates, 8, "coordinates", "up to this many, columns of features are read faster than rows") \
    /* Climbing: where it begins and ends (climbing/climb.cpp) */ \
    constant(double, climb_target, 1e-10, "relative residual", "where a climb ends") \
    constant(double, climb_swept_target, 1e-9, "relative residual", \
             "the same where sweeps compute values, whose error is no less") \
    constant(double, climb_held_target, 1e-3, "relative residual", \
             "the same with a held policy, by which only a start is found") \
    constant(double, climb_surrogate_target, 1e-4, "of climb_target", \
             "the same for a surrogate, so that what it leaves does not count") \
    constant(double, climb_stalled_residual, 1e-8, "relative residual", \
             "a climb ends here, too, once f no longer rises beyond rounding") \
    constant(Index, climb_stalled_steps, 2, "steps", \
             "so many in a row that raise f by no more than rounding end a climb there") \
    constant(Index, climb_stuck_steps, 10, "steps", "so many in a row end it anywhere") \
    constant(Index, climb_iterations, 300, "steps", "of a climb, at most") \
    constant(double, climb_too_steep, 10.0, "of all counts and the bias", \
             "an n/p above it is that of a transition all but impossible: a climb begins further inside") \
    constant(double, climb_keeps_most, 0.99, "of y", \
             "how much of a start that is too steep is kept, the rest the interior point: tried first") \
    constant(double, climb_keeps_much, 0.9, "of y", "the same, tried next") \
    constant(double, climb_keeps_half, 0.5, "of y", "the same, tried last") \
    constant(double, climb_rough_values, 1e-6, "of 1/(1-gamma)", "the error of values by sweeps where a climb begins") \
    constant(double, climb_f_error, 1e-3, "of what the slope promises", "by so much values by sweeps may let f be off") \
    constant(double, climb_slope_error, 1e-3, "of the residual", "by so much values by sweeps may let the slope be off") \
    constant(double, climb_rounding, 1e-14, "of 1 + |f|", "by so much f as it was computed twice may differ") \
    constant(double, line_search_keeps, 0.1, "of a probability", "a step leaves observed transitions at least this") \
    constant(double, armijo, 1e-4, "of what the slope promises", "by so much a step has to raise what is climbed") \
    constant(Index, line_search_halvings, 40, "halvings", "of a step, at most") \
    /* Climbing: steps */ \
    constant(Index, batch, 64, "numbers", "that are handled together on the stack") \
    constant(Index, batch_observed, 256, "observed transitions", "whose logarithms, or curvatures, are taken together") \
    constant(Index, bent_coordinates, 6, "free coordinates", \
             "without factors the value's curvature is found for so many: it takes sweeps for each") \
    constant(double, bent_accuracy, 1e-7, "of the largest it can be", \
             "the error of the value's curvature where sweeps compute it") \
    constant(Index, surrogate_observed, 4096, "observed transitions", "up to this many, the surrogate is used") \
    constant(double, soften_flat, 1e-13, "of the mean diagonal", \
             "at least this is on the diagonal of a program, for a safe factorisation") \
    constant(double, soften_reach, 1e-6, "diameters", "the inverse of how far the unconstrained maximum may be away") \
    constant(double, soften_always, 1e-14, "of the diagonal's unit", "what is added where all else is zero") \
    constant(Index, frame_coordinates, 32, "free coordinates", \
             "with fewer, a new frame is made as fast as an old one is renewed") \
    constant(Index, frame_kept_coordinates, 128, "free coordinates", \
             "up to this many, the frame of the last program is kept with each maximum") \
    constant(Index, correction_products, 30, "products", "with the value's curvature in one correction, at most") \
    constant(double, correction_roughest, 0.1, "relative accuracy", \
             "of a correction far from the top, where more does not pay") \
    constant(double, correction_finest, 1e-4, "relative accuracy", "of a correction near the top") \
    constant(double, correction_flat, 1e-12, "of the residual's square", "a direction of less curvature ends a correction") \
    constant(double, correction_rate, 1e-14, "of a step", "a facet that is approached more slowly does not end it") \
    constant(double, block_rests, 1e-14, "of y", "a block that moved by no more, with the same gradient, is at rest") \
    constant(Index, near_many_facets, 128, "facets", \
             "with fewer, looking at all of them costs no more than at those nearby") \
    constant(Index, near_share, 6, "facets per near one", "at most one of so many is near") \
    constant(Index, near_most, 65'536, "facets", "that are near, at most") \
    constant(double, near_widest, 1.0, "distance in y", "the first radius that is tried; then halves") \
    constant(double, near_narrowest, 1e-6, "distance in y", "the last radius that is tried") \
    constant(double, near_rounding, 1e-14, "distance in y", "by so much a facet may be violated by a step that stays in P") \
    /* Climbing: polishing (climbing/polish.cpp) */ \
    constant(Index, polish_coordinates, 4, "free coordinates", \
             "with fewer, new factors are cheap and old ones are not used again") \
    constant(Index, polish_costly_coordinates, 32, "free coordinates", \
             "with so many, a program costs as much as several gradients") \
    constant(double, polish_near, 1e-3, "relative residual", "from this on factors are used again") \
    constant(double, polish_quick, 0.1, "of the residual", "each such step has to leave at most this") \
    constant(double, polish_costly_near, 0.1, "relative residual", "from this on where programs are costly") \
    constant(double, polish_costly_quick, 0.4, "of the residual", "what each step has to leave there") \
    constant(Index, polish_costly_faces, 3, "faces", "how often the face may change there") \
    constant(double, polish_other_face, 1e-4, "of what the slope promises", "a step to another face has to win this") \
    constant(double, polish_teaches, 1e-9, "relative residual", \
             "below it, changes of the slope are as much rounding as curvature") \
    /* Searching: maxima side by side (climbing/pool.cpp) */ \
    constant(double, pool_tie, 1e-9, "of 1 + |f|", "objectives closer than this count as equal") \
    constant(double, pool_same_point, 1e-6, "of the largest |y|", "points closer than this count as one ...") \
    constant(double, pool_same_objective, 1e-7, "of 1 + |f|", "... where their objectives are this close, too") \
    constant(Index, pool_own_numbers, 1'048'576, "numbers", "up to this many, each place keeps p and factors of its own") \
    constant(double, pool_outside, 1e-6, "distance in y", "by so much a saved y may be outside of P") \
    constant(double, rival_hope, 3.0, "of what the slope promises", "a climb is not expected to win more") \
    constant(double, rival_next_to, 1e-2, "distance in y", "coordinates closer than this are next to each other ...") \
    constant(double, rival_nothing, 1e-4, "of 1 + |f|", "... and this is nothing to win there") \
    constant(double, rival_missed, 0.1, "of a step", "by so much it may miss the maximum that it leads to") \
    /* Searching: starts (climbing/starts.cpp) */ \
    constant(Index, search_few_pairs, 64, "pairs", "up to so many neighbouring policies, all are tried") \
    constant(Index, search_quick, 8, "starts", "so many, and as many actions, are tried in a quick survey") \
    constant(double, search_near_incumbent, 0.05, "of the way to the best", \
             "a start between the incumbent and the point best for the controller everywhere") \
    constant(double, search_between, 0.5, "of the way to the best", "a second one") \
    constant(double, search_near_best, 0.95, "of the way to the best", "a third one") \
    constant(Index, search_often, 64, "turns", "up to so many, a start and a policy are tried in each") \
    constant(Index, search_rarely, 512, "turns", "up to so many they take turns; from then on every second one is left out") \
    constant(Index, search_far_coordinates, 8, "free coordinates", \
             "from which on a start is many steps away from its maximum") \
    /* Quadratic programs (linalg/quadratic_program.cpp) */ \
    constant(double, program_least_curvature, 1e-3, "of the frame's curvature", \
             "a step that shows less is left to a new program") \
    constant(Index, program_on_frame, 8, "facets", \
             "added, or dropped at first, on a frame that is not renewed: more show that it is too old") \
    constant(Index, program_remembered, 8, "facets", "violated ones that are remembered beyond the number of variables") \
    constant(double, program_stationary, 1e-12, "of the largest number at hand", "what may be left of the slope") \
    constant(double, program_flat, 1e-14, "of a squared length", "a direction of less curvature has none") \
    constant(double, program_contradiction, 1e-9, "of 1 + |d|", "a redundant facet violated by more shows that P is empty") \
    constant(Index, program_turns, 50, "times (n + 10)", "facets added, at most") \
    constant(Index, lu_panel, 16, "columns", "that are factored together") \
    constant(Index, product_depth, 128, "rows", "of a matrix that are copied together for a product") \
    constant(double, cholesky_pivot, 1e-14, "of the diagonal entry", "a pivot below it is not safely positive") \
    /* Linear programs (linalg/linear_program.cpp) */ \
    constant(double, linear_margin, 1e-9, "distance in y", \
             "a facet counts as redundant only where the others keep it slack by more") \
    constant(Index, linear_steps, 60, "steps", "of one program, at most") \
    constant(double, linear_settled, 1e-12, "of max(1, |y|)", "a shorter step ends the program") \
    constant(double, linear_last_ridge, 1e-10, "of the objective's size", "the ridge of the last step") \
    /* Certificates */ \
    constant(double, bound_accuracy, 0.02, "of the tolerance", "how exactly the concave part is bounded") \
    constant(double, bound_edges_tie, 1e-9, "of an edge", "edges as wide up to this are taken in order, not by rounding") \
    constant(Index, bound_steps, 200, "steps", "of Frank and Wolfe, at most") \
    constant(Index, bound_trials, 30, "trials", "of one line search, at most") \
    constant(double, bound_line_width, 1e-6, "of the line", \
             "a bracket or a step of Newton's method this small ends a line search") \
    constant(double, bound_share, 0.05, "of the distance to the target", "a gap this small decides nothing more") \
    constant(double, excess_improves, 1e-12, "value", "a choice must gain more to be taken") \
    constant(Index, excess_rounds, 100, "rounds", "of policy iteration, at most") \
    /* Optimism */ \
    constant(double, l1_tie, 1e-12, "of |Q|", "actions closer than this are equals") \
    constant(double, models_close, 1e-9, "of V", "the gap of an inner maximum that is close enough") \
    constant(double, models_indifferent, 1e-14, "of V", "what the choice of theta may be worth, to be no choice") \
    constant(double, models_inside, 1e-9, "of its room", "by so much an ellipsoid may be missed") \
    constant(double, information_per_dimension, 0.2, "of the threshold", \
             "what each free coordinate of a block adds to the information that is worth a new plan") \
    constant(Index, extended_rounds, 1000, "rounds", "of one plan, at most") \
    constant(Index, extended_idle, 6, "rounds", "without progress, after which the error stays what it is") \
    constant(Index, extended_inner, 20, "Bellman sweeps", "between two choices of models, in models with many states") \
    constant(double, ellipsoid_exact, 1e-13, "of its room", "how well the ellipsoid's boundary is met") \
    constant(double, ellipsoid_farthest, 1e7, "times the s of the closed form", \
             "beyond, rounding would move more than s does") \
    constant(double, ellipsoid_far, 30.0, "times the s of the closed form", "from there on all of P is looked at") \
    constant(Index, ellipsoid_rounds, 100, "rounds", "a handful are needed") \
    constant(Index, ellipsoid_steps, 60, "steps", "towards a maximiser over all of P; mostly one or two") \
    constant(Index, intersection_rounds, 60, "rounds", "of one search, at most") \
    constant(Index, intersection_halvings, 40, "halvings", \
             "of a step, before another direction is tried or the search ends") \
    constant(double, intersection_gap, 1e-11, "of 1 + |value|", "where the search ends") \
    constant(double, intersection_feasible, 1e-7, "of its room", "by so much an ellipsoid may be missed") \
    /* Tabular models */ \
    constant(double, rows_tie, 1e-9, "of 1 + |f|", "a switch must gain more") \
    constant(Index, rows_switches, 100, "switches", "of one action that may be tried") \
    constant(Index, rows_halvings, 40, "halvings", "of a step, at most") \
    constant(double, rows_scarce, 1e-3, "of its frequency", "less of something observed is all but excluded") \
    constant(Index, pair_steps, 200, "steps", "of Newton's method for one pair, at most") \
    /* Sampling */ \
    constant(double, sample_least_probability, 1e-300, "probability", "of something observed, where a chain stands") \
    constant(double, reference_least_share, 0.1, "of an equal share", \
             "what each facet has at least, so that none goes unseen") \
    constant(Index, reference_steps, 500, "steps", "of Newton's method: more than are ever needed") \
    constant(double, reference_enough, 1e-6, "Newton decrement, squared", \
             "at which the reference is good enough for directions") \
    constant(Index, reference_halvings, 60, "halvings", "of a step, at most") \
    constant(Index, reference_sharings, 100, "rounds", "of multiplying shares by leverages") \
    constant(Index, reference_sharing_steps, 20, "steps", "of Newton's method in each of these") \
    constant(double, slice_accuracy, 1e-10, "log density, or of the distance", "how exactly the ends of a slice are found") \
    /* Judging policies by draws (judging/) */ \
    constant(double, judged_values, 1e-10, "of 1/(1-gamma)", "the error of a draw's optimal values, by sweeps") \
    constant(double, judged_visits, 1e-8, "of 1/(1-gamma)", "the error of visits under the mean model, by sweeps") \
    constant(double, judged_loss, 1e-4, "of itself", "the error of what a policy loses in a draw, by sweeps") \
    constant(double, judged_loss_begin, 1e-3, "reward", "of that, what is enough before its size is known") \
    constant(double, judged_candidates, 4.0, "of the spread of changes", \
             "actions that are worse by more are left out until all are looked at again") \
    constant(Index, judged_rounds, 50, "rounds", "through all pairs, in the plan of four draws, at most") \
    constant(Index, judged_sweeps, 100, "sweeps", "of four draws; where more are ahead each goes the planner's way") \
    constant(Index, judged_short_features, 4, "numbers", \
             "features of up to so many are read as fast as probabilities that were kept") \
    /* Bayes-optimal control */ \
    constant(Index, bayes_belief_bits, 44, "bits", "of each probability that beliefs are told apart by") \
    constant(Index, bayes_deepest, 2000, "steps", "of a trial, at most") \
    constant(Index, bayes_edges_per_node, 4, "edges", "there is room for so many") \
    constant(double, bayes_vector_gain, 1e-3, "of the gap at a belief", "a new lower bound has to gain more, until that ends progress") \
    constant(Index, bayes_grid_numbers, 500'000, "numbers", "that sweeps over a grid of beliefs read, at most") \
    constant(Index, bayes_grid_finest, 200, "parts", "into which a grid divides 1, at most") \
    constant(double, bayes_grid_rounding, 1e-9, "of a part", "by so much beliefs may miss the grid and stand on it") \
    constant(Index, bayes_grid_sweeps, 1000, "sweeps", "of a grid, at most") \
    constant(double, bayes_grid_change, 1e-6, "value", "sweeps end where they change no more") \
    /* What a caller may ask for */ \
    constant(Index, limit_places, 1000, "maxima", "kept side by side by one solver") \
    constant(Index, limit_factored, 1'048'576, "states", "above, dense factors would not fit into any memory") \
    constant(Index, limit_starts, 2'147'483'648, "starts", "of one search") \
    constant(Index, limit_numbers, 1'099'511'627'776, "numbers", "in one array: more than any memory has") \
    constant(Index, limit_indices, 2'147'483'648, "pairs or successors", "they are kept in 32 bits") \
    constant(double, limit_total, 4611686018427387904.0, "transitions", \
             "counted in all, 2^62: no run of single ones comes near")

namespace vb {

struct Tuning {
#define VB_MEMBER(type, name, value, unit, sentence) type name = value;
    VB_TUNING(VB_MEMBER)
#undef VB_MEMBER
};

inline constexpr Tuning tuning;

}  // namespace vb
