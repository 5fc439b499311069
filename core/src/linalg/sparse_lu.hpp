// Sparse LU without pivoting, for I - gamma P: rows are diagonally dominant in any order of the states, so no pivot can
// grow or vanish, and what is filled is known before (elimination.hpp).
//
// L and U are kept by blocks of pivots. A block of m pivots with a tail of r rows has an (m, m) matrix with its part of L
// below the diagonal, whose own diagonal is one, of U above it, and the inverses of U's diagonal on it; (m, r) of U beside
// it; and (r, m) of L below it.
#pragma once

#include "linalg/elimination.hpp"

namespace vb {

// The entries of row i are value[begin[i]] .. value[end[i] - 1]. Those of one column are added up.
struct SparseMatrix {
    const std::int32_t* begin = nullptr;   // (n,)
    const std::int32_t* end = nullptr;     // (n,)
    const std::int32_t* column = nullptr;
    const double* value = nullptr;
};

struct SparseFactors {
    Elimination plan;
    Indices square_begin;      // (blocks + 1,)
    Vector square;             // (m, m) of every block
    Vector beside, below;      // (m, r) and (r, m) of every block: those of block b begin where `beside_begin` says
    Indices beside_begin;      // (blocks + 1,)
    View<std::int32_t> met;    // (blocks,) scratch: how many rows of each tail are done
    Vector row;                // (n,) scratch: all zero between calls
    Vector some;               // scratch: as long as the longest tail
    Vector x;                  // (n,) scratch

    bool empty() const { return plan.n == 0; }
};

// Room for the factors; its `plan` is what was given.
SparseFactors make_sparse_factors(Arena& arena, const Elimination& plan);

// The factors of I - matrix, whose entries the plan knows.
void factor_difference(SparseFactors& factors, const SparseMatrix& matrix);

// x becomes the solution of (I - matrix) z = x, or of its transpose.
void sparse_solve(const SparseFactors& factors, double* x);
void sparse_solve_transposed(const SparseFactors& factors, double* x);

}  // namespace vb
