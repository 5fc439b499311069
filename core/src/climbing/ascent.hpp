// What a climb works with, made once for a model, and one climb under way.
#pragma once

#include "climbing/approach.hpp"
#include "climbing/block_program.hpp"
#include "climbing/curvature.hpp"
#include "climbing/face_correction.hpp"
#include "climbing/rivals.hpp"
#include "climbing/verdict.hpp"
#include "common/tuning.hpp"

namespace vb {

// The step that a program gives.
struct Step {
    Vector move;        // (free,) in y
    Vector multiplier;  // (free,) of the facets that are active at its end, block by block
};

struct StartScratch {
    Vector given, best;  // (free,) starts
};

struct LineScratch {
    Vector y;  // (free,) where a step leads
    Vector p;  // (transitions,) there
};

struct PolishScratch {
    Vector y;           // (free,) where a step leads
    Vector along;       // (free,) the slope in the frame
    Vector multiplier;  // (free,)
    Vector before;      // (free,) the slope before a step, and what the step has changed of it
    Vector mixed;       // (free,)
};

struct Surrogate;

// Its parts belong to the functions that are named like them.
struct Climber {
    Approach approach;
    Planner planner;
    Slope slope;
    Step step;
    Vector rest;  // (free,) of the slope, beside the multipliers
    ProgramScratch program;
    DenseScratch dense;
    ProductScratch product;
    DirectionScratch direction;
    StartScratch start;
    LineScratch line;
    PolishScratch polish;
    Surrogate* surrogate = nullptr;  // for models whose plans cost most (surrogate.hpp), or null
};

Climber make_climber(Arena& arena, const Model& model, const FeasibleSet& set, Method method);

// Where a climb stands. Slope and step are the climber's.
struct Ascent {
    const Problem& problem;
    const Rivals& rivals;
    Point& at;
    Climber& tools;
    double target;           // the residual at which it ends: a rough one with a held policy, by which only a start is found
    double f = 0.0;
    double error = 0.0;      // of the value in f
    double precision = 0.0;  // the error that values may have from now on
    Verdict verdict;         // for the multipliers at hand
    double rise = 0.0;       // what the slope promises of a whole step
    Index stalled = 0;       // steps in a row that raised f by no more than rounding
    Index iteration = 0;

    Ascent(const Problem& problem_, const Rivals& rivals_, Point& at_, Climber& tools_)
        : problem(problem_), rivals(rivals_), at(at_), tools(tools_),
          target(problem.objective.held ? tuning.climb_held_target : tools.approach.target) {}
};

// The slope at the point becomes the climber's.
void find_slope_here(const Ascent& run);

// The verdict on the point, for that slope and the multipliers at hand.
Verdict judge_here(const Ascent& run);

// By how much f as it was computed and f as it would be computed now may differ.
double noise_of(const Ascent& run);

}  // namespace vb
