#include "certifying/cell_queue.hpp"

#include <utility>

namespace vb {

CellQueue make_cell_queue(Arena& arena, Index most_cells) {
    CellQueue queue;
    queue.heap = arena.take_unfilled<Index>(most_cells);
    queue.bounds = arena.take_unfilled<double>(most_cells);
    return queue;
}

void push(CellQueue& queue, Index cell) {
    Indices heap = queue.heap;
    Index k = queue.size++;
    heap[k] = cell;
    while (k > 0) {
        const Index parent = (k - 1) / 2;
        if (queue.bounds[heap[parent]] >= queue.bounds[heap[k]]) break;
        std::swap(heap[parent], heap[k]);
        k = parent;
    }
}

Index pop(CellQueue& queue) {
    Indices heap = queue.heap;
    const Index top = heap[0];
    heap[0] = heap[--queue.size];
    Index k = 0;
    while (true) {
        Index child = 2 * k + 1;
        if (child >= queue.size) break;
        if (child + 1 < queue.size && queue.bounds[heap[child + 1]] > queue.bounds[heap[child]]) ++child;
        if (queue.bounds[heap[k]] >= queue.bounds[heap[child]]) break;
        std::swap(heap[k], heap[child]);
        k = child;
    }
    return top;
}

}  // namespace vb
