// Views: a pointer with its size. They own nothing; an Arena does (arena.hpp).
#pragma once

#include <cstdint>

namespace vb {

using Index = std::int64_t;

template <class T>
struct View {
    T* data = nullptr;
    Index size = 0;

    T& operator[](Index i) const { return data[i]; }
    T* begin() const { return data; }
    T* end() const { return data + size; }
    bool empty() const { return size == 0; }
    operator View<const T>() const { return {data, size}; }
};

using Vector = View<double>;
using ConstVector = View<const double>;
using Indices = View<Index>;
using ConstIndices = View<const Index>;

// A matrix by rows: m[i] is row i, m[i][j] an entry.
template <class T>
struct Grid {
    T* data = nullptr;
    Index rows = 0;
    Index cols = 0;

    T* operator[](Index i) const { return data + i * cols; }
    bool empty() const { return data == nullptr; }
    operator Grid<const T>() const { return {data, rows, cols}; }
};

using Matrix = Grid<double>;
using ConstMatrix = Grid<const double>;

template <class T>
void fill(T* out, Index n, T value) {
    for (Index i = 0; i < n; ++i) out[i] = value;
}

template <class T>
void copy(const T* from, Index n, T* to) {
    for (Index i = 0; i < n; ++i) to[i] = from[i];
}

}  // namespace vb
