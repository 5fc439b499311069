// Matrices that are kept by columns, so that loops over many rows and few columns run along memory.
#pragma once

#include "common/numbers.hpp"

namespace vb {

// (rows, count) numbers, column after column
struct Columns {
    const double* data = nullptr;
    Index rows = 0;
    Index count = 0;

    const double* operator[](Index j) const { return data + j * rows; }
};

// out += sum_j x_j column_j, four columns at a time
inline void add_combination(const Columns& columns, const double* x, double* out) {
    const Index n = columns.rows;
    Index j = 0;
    for (; j + 4 <= columns.count; j += 4) {
        const double *a = columns[j], *b = columns[j + 1], *c = columns[j + 2], *d = columns[j + 3];
        const double xa = x[j], xb = x[j + 1], xc = x[j + 2], xd = x[j + 3];
        for (Index i = 0; i < n; ++i) out[i] += (xa * a[i] + xb * b[i]) + (xc * c[i] + xd * d[i]);
    }
    for (; j < columns.count; ++j) add_scaled(x[j], columns[j], n, out);
}

}  // namespace vb
