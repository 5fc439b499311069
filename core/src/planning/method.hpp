// How policies are evaluated: by dense factors, exactly, or by sweeps, to a promised error. The one place that decides.
//
// Dense factors cost S^3 whatever the pattern, sweeps the transitions of a policy over 1 - gamma. Where sweeps are slow,
// sparse factors take their place if they are cheaper (direct.hpp).
#pragma once

#include "model/model.hpp"

namespace vb {

enum class Method { sweeps, factors };

inline Method factors_if(bool factors) { return factors ? Method::factors : Method::sweeps; }

// The faster one for a model that is planned for again and again. Sparse features need factors for the value's curvature,
// as long as they fit.
Method method_for_many_plans(const Model& model);

// The faster one for a single plan, and for the single value of a policy.
Method method_for_one_plan(const Model& model);
Method method_for_one_value(const Model& model);

// The same for a plan of a model that is fully known.
Method method_for_known_plan(const Model& model);

// Whether factors are a way out where sweeps take long.
bool factors_fit(const Model& model);

// Whether sparse factors are cheaper than sweeps without trying these: states lead to near neighbours by number, and
// gamma lets sweeps take long.
bool direct_at_once(const Model& model);

// The multiplications above which sparse factors of one policy cost more than what they replace.
double most_products(const Model& model);

// What sparse factors of one policy cost with their solves, in sweeps.
double sweeps_for_factors(const Model& model, double products, double entries);

// Whether to go on with sparse factors, given that cost, what sweeps have cost so far, and what they will, as it looks.
bool direct_pays(double cost, double so_far, double ahead);

// The faster one for plans over L1 balls of transition probabilities.
Method method_for_l1_plans(const Model& model);

}  // namespace vb
