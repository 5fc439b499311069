// Cells in the order of their bounds, the greatest first: a binary heap.
#pragma once

#include "common/arena.hpp"

namespace vb {

struct CellQueue {
    Index size = 0;
    Indices heap;   // cells
    Vector bounds;  // by cell

    bool empty() const { return size == 0; }
    double greatest() const { return bounds[heap[0]]; }
};

CellQueue make_cell_queue(Arena& arena, Index most_cells);

void push(CellQueue& queue, Index cell);

// Removes the cell of the greatest bound.
Index pop(CellQueue& queue);

}  // namespace vb
