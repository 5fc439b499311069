// Products of dense matrices, tile by tile in registers.
#pragma once

#include "common/view.hpp"

namespace vb {

// A part of a matrix: entry (i, j) is data[i * stride + j].
template <class T>
struct Part {
    T* data;
    Index rows;
    Index cols;
    Index stride;

    T* operator[](Index i) const { return data + i * stride; }
    operator Part<const T>() const { return {data, rows, cols, stride}; }
};

// C -= A B. C must not overlap A or B.
void subtract_product(Part<double> C, Part<const double> A, Part<const double> B);

// <x, y> where both are long
double long_dot(const double* x, const double* y, Index n);

// The sum of n numbers, and their least, or 0 where that is less; a NaN among them makes the sum one.
struct Total {
    double sum;
    double least;
};
Total total_of(const double* x, Index n);

// C += A' B, at least its lower triangle; the rest of C is undefined then. A and B are (n, m), and may be followed by
// whatever is in memory: up to kBeyond numbers after their end are read, though not used.
inline constexpr Index kBeyond = 16;
void add_transposed_product(ConstMatrix A, ConstMatrix B, Matrix C);

// out += M' scale: rows of M, each times its own number
void add_rows(ConstMatrix M, const double* scale, double* out);

// out[i] = <row i, v> for four rows, each in the same way whatever the others are
void multiply_four(const double* const* rows, Index cols, const double* v, double* out);

// out = M v, for M of `out`'s length by `v`'s.
void multiply_rows(ConstMatrix M, const double* v, double* out);

}  // namespace vb
