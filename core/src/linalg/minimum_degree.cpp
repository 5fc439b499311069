#include "linalg/minimum_degree.hpp"

#include "common/numbers.hpp"
#include "common/tuning.hpp"

namespace vb {

namespace {

using Numbers = View<std::int32_t>;

// What stands where a row has the number of its elements.
constexpr std::int32_t kElement = -1, kGone = -2;

// Every row is one of: waiting (size > 0), in the pivot's neighbourhood (size < 0, while that pivot is taken), or gone
// (size 0: taken, or one with another row).
struct Quotient {
    std::int32_t n;
    Index free;            // where `list` is free from on
    Numbers list;          // of a row: elements first, then rows; of an element: rows
    Indices begin;         // (n,) where each list begins
    Numbers length;        // (n,) of each list
    Numbers elements;      // (n,) how many of a row's list are elements; kElement, or kGone
    Numbers size;          // (n,) how many rows a row stands for
    Numbers degree;        // (n,) of a row: the bound, without itself; of an element: its rows
    Numbers head, next, previous;  // lists of rows by degree: head is (n,)
    Numbers member, last;  // (n,) the rows that a row stands for, itself first
    Indices seen;          // (n,) stamps; of elements: the stamp plus the rows outside of the pivot's neighbourhood
    Indices hash;          // (n,)
    Numbers bucket;        // (n,) by hash: the first row; then by `next`
    Index stamp = 1;
    std::int32_t least = 0;  // no list below this degree holds a row
    Index taken = 0;
};

bool make_room(Arena& scratch, const Graph& graph, Quotient& q) {
    Index total = 0;
    for (Index i = 0; i < graph.n; ++i) total += graph.degree(i);
    q.n = static_cast<std::int32_t>(graph.n);
    q.list = scratch.take_unfilled<std::int32_t>(total + total / 4 + 2 * graph.n + 1);
    q.begin = scratch.take_unfilled<Index>(graph.n);
    Numbers* const all[] = {&q.length, &q.elements, &q.size, &q.degree, &q.head, &q.next, &q.previous, &q.member,
                            &q.last, &q.bucket};
    for (Numbers* numbers : all) *numbers = scratch.take_unfilled<std::int32_t>(graph.n);
    q.seen = scratch.take<Index>(graph.n);
    q.hash = scratch.take_unfilled<Index>(graph.n);
    return !scratch.failed();
}

void put_in(Quotient& q, std::int32_t i) {
    const std::int32_t d = q.degree[i], first = q.head[d];
    q.previous[i] = -1;
    q.next[i] = first;
    if (first >= 0) q.previous[first] = i;
    q.head[d] = i;
    q.least = d < q.least ? d : q.least;
}

void take_out(Quotient& q, std::int32_t i) {
    if (q.previous[i] >= 0) {
        q.next[q.previous[i]] = q.next[i];
    } else {
        q.head[q.degree[i]] = q.next[i];
    }
    if (q.next[i] >= 0) q.previous[q.next[i]] = q.previous[i];
}

// What `from` stood for, `to` stands for from now on.
void join(Quotient& q, std::int32_t to, std::int32_t from) {
    q.member[q.last[to]] = from;
    q.last[to] = q.last[from];
    q.size[from] = 0;
}

void begin_quotient(const Graph& graph, Quotient& q) {
    q.free = 0;
    fill(q.head.data, graph.n, std::int32_t{-1});
    fill(q.bucket.data, graph.n, std::int32_t{-1});
    for (std::int32_t i = 0; i < q.n; ++i) {
        q.begin[i] = q.free;
        for (Index k = graph.begin[i]; k < graph.end[i]; ++k) q.list[q.free++] = graph.next[k];
        q.length[i] = q.degree[i] = static_cast<std::int32_t>(graph.degree(i));
        q.elements[i] = 0;
        q.size[i] = 1;
        q.member[i] = -1;
        q.last[i] = i;
    }
}

// Rows that have very many neighbours would be in everybody's way: they come last, as one. Returns the first, or -1.
std::int32_t set_hubs_aside(Quotient& q) {
    const double many = larger(tuning.order_hub_least, tuning.order_hub_roots * vb::sqrt(static_cast<double>(q.n)));
    std::int32_t first = -1;
    for (std::int32_t i = 0; i < q.n; ++i) {
        if (static_cast<double>(q.degree[i]) <= many) {
            put_in(q, i);
            continue;
        }
        ++q.taken;
        if (first >= 0) {
            join(q, first, i);
        } else {
            first = i;
            q.size[i] = 0;
        }
        q.elements[i] = kGone;
        q.length[i] = 0;
    }
    return first;
}

// Moves all lists that are in use to the front. The first entry of each is put aside while its owner stands there.
void close_gaps(Quotient& q) {
    for (std::int32_t i = 0; i < q.n; ++i) {
        if (q.length[i] == 0) continue;
        std::int32_t& first = q.list[q.begin[i]];
        q.begin[i] = first;
        first = -1 - i;
    }
    Index to = 0;
    for (Index from = 0; from < q.free;) {
        const std::int32_t owner = -1 - q.list[from++];
        if (owner < 0) continue;
        q.list[to] = static_cast<std::int32_t>(q.begin[owner]);
        q.begin[owner] = to++;
        for (std::int32_t k = 1; k < q.length[owner]; ++k) q.list[to++] = q.list[from++];
    }
    q.free = to;
}

// Adds the rows of a list that are waiting to the neighbourhood that is being made; how many they stand for.
std::int32_t gather(Quotient& q, Index begin, Index end) {
    std::int32_t weight = 0;
    for (Index k = begin; k < end; ++k) {
        const std::int32_t i = q.list[k];
        if (q.size[i] <= 0) continue;
        weight += q.size[i];
        q.size[i] = -q.size[i];
        q.list[q.free++] = i;
        take_out(q, i);
    }
    return weight;
}

void retire(Quotient& q, std::int32_t i) {
    q.elements[i] = kGone;
    q.length[i] = 0;
}

// The pivot's neighbourhood becomes its list: its rows, and those of its elements, which it replaces.
void make_element(Quotient& q, std::int32_t pivot) {
    const Index begin = q.begin[pivot], rows = begin + q.elements[pivot], end = begin + q.length[pivot], made = q.free;
    std::int32_t weight = gather(q, rows, end);
    for (Index k = begin; k < rows; ++k) {
        const std::int32_t e = q.list[k];
        weight += gather(q, q.begin[e], q.begin[e] + q.length[e]);
        retire(q, e);
    }
    q.elements[pivot] = kElement;
    q.begin[pivot] = made;
    q.length[pivot] = static_cast<std::int32_t>(q.free - made);
    q.degree[pivot] = weight;
}

// Of every element next to the neighbourhood, the stamp and how many of its rows are outside.
void look_outside(Quotient& q, std::int32_t pivot) {
    for (Index k = q.begin[pivot]; k < q.free; ++k) {
        const std::int32_t i = q.list[k], weight = -q.size[i];
        for (Index at = q.begin[i]; at < q.begin[i] + q.elements[i]; ++at) {
            const std::int32_t e = q.list[at];
            if (q.elements[e] != kElement) continue;
            if (q.seen[e] < q.stamp) q.seen[e] = q.stamp + q.degree[e];
            q.seen[e] -= weight;
        }
    }
}

// Drops from the list of a row what is gone or inside the neighbourhood, puts the pivot first, and finds how many
// neighbours it has outside, at most, and its hash.
std::int32_t renew_row(Quotient& q, std::int32_t pivot, std::int32_t i) {
    const Index begin = q.begin[i], rows = begin + q.elements[i], end = begin + q.length[i];
    Index to = begin, hash = 0;
    std::int32_t outside = 0;
    for (Index k = begin; k < rows; ++k) {
        const std::int32_t e = q.list[k];
        if (q.elements[e] != kElement) continue;
        if (q.seen[e] == q.stamp) {  // all of it is inside: the pivot's list has it
            retire(q, e);
            continue;
        }
        outside += static_cast<std::int32_t>(q.seen[e] - q.stamp);
        hash += e;
        q.list[to++] = e;
    }
    const Index first_row = to;
    for (Index k = rows; k < end; ++k) {
        const std::int32_t j = q.list[k];
        if (q.size[j] <= 0) continue;
        outside += q.size[j];
        hash += j;
        q.list[to++] = j;
    }
    q.list[to] = q.list[first_row];
    q.list[first_row] = q.list[begin];
    q.list[begin] = pivot;
    q.elements[i] = static_cast<std::int32_t>(first_row - begin + 1);
    q.length[i] = static_cast<std::int32_t>(to - begin + 1);
    q.hash[i] = hash % q.n;
    return outside;
}

// Renews the rows of the neighbourhood. Those with nothing outside are taken with the pivot.
void renew_rows(Quotient& q, std::int32_t pivot) {
    for (Index k = q.begin[pivot]; k < q.free; ++k) {
        const std::int32_t i = q.list[k], outside = renew_row(q, pivot, i);
        if (outside == 0) {
            q.degree[pivot] += q.size[i];
            q.taken -= q.size[i];
            join(q, pivot, i);
            retire(q, i);
            continue;
        }
        q.degree[i] = outside < q.degree[i] ? outside : q.degree[i];
        std::int32_t& first = q.bucket[q.hash[i]];
        q.next[i] = first;
        first = i;
    }
    q.stamp += 2 * Index{q.n} + 2;
}

bool alike(const Quotient& q, std::int32_t i, std::int32_t j) {
    if (q.length[i] != q.length[j] || q.elements[i] != q.elements[j]) return false;
    for (Index k = q.begin[j] + 1; k < q.begin[j] + q.length[j]; ++k) {
        if (q.seen[q.list[k]] != q.stamp) return false;
    }
    return true;
}

// Makes one of the rows of a bucket that are alike.
void join_alike(Quotient& q, std::int32_t first) {
    for (std::int32_t i = first; i >= 0 && q.next[i] >= 0; i = q.next[i]) {
        ++q.stamp;
        for (Index k = q.begin[i] + 1; k < q.begin[i] + q.length[i]; ++k) q.seen[q.list[k]] = q.stamp;
        for (std::int32_t before = i, j = q.next[i]; j >= 0; j = q.next[j]) {
            if (!alike(q, i, j)) {
                before = j;
                continue;
            }
            q.size[i] += q.size[j];
            join(q, i, j);
            retire(q, j);
            q.next[before] = q.next[j];
        }
    }
}

// Puts the rows of the neighbourhood back among those that wait.
void release(Quotient& q, std::int32_t pivot) {
    Index kept = q.begin[pivot];
    for (Index k = q.begin[pivot]; k < q.free; ++k) {
        const std::int32_t i = q.list[k];
        if (q.size[i] == 0) continue;
        q.size[i] = -q.size[i];
        const Index left = q.n - q.taken - q.size[i], bound = Index{q.degree[i]} + q.degree[pivot] - q.size[i];
        q.degree[i] = static_cast<std::int32_t>(bound < left ? bound : left);
        put_in(q, i);
        q.list[kept++] = i;
    }
    q.length[pivot] = static_cast<std::int32_t>(kept - q.begin[pivot]);
    q.free = kept;
    if (q.length[pivot] == 0) retire(q, pivot);
}

// What pivots with 0, 1, ... m - 1 entries below them take together: c (c + 1) each.
double products_below(double m) { return (m - 1.0) * m * (m + 1.0) / 3.0; }

// Takes one pivot, with those that come along; the products that they take, but for those in rows set aside.
double take_pivot(Quotient& q, std::int32_t pivot) {
    const Index before = q.taken;
    take_out(q, pivot);
    q.taken += q.size[pivot];
    q.size[pivot] = 0;
    make_element(q, pivot);
    look_outside(q, pivot);
    renew_rows(q, pivot);
    for (Index k = q.begin[pivot]; k < q.free; ++k) {
        const std::int32_t i = q.list[k];
        if (q.size[i] == 0 || q.bucket[q.hash[i]] < 0) continue;
        const std::int32_t first = q.bucket[q.hash[i]];
        q.bucket[q.hash[i]] = -1;
        join_alike(q, first);
    }
    ++q.stamp;
    release(q, pivot);
    const double beyond = q.degree[pivot];
    return products_below(beyond + static_cast<double>(q.taken - before)) - products_below(beyond);
}

Index write_members(const Quotient& q, std::int32_t pivot, Index at, std::int32_t* order) {
    for (std::int32_t i = pivot; i >= 0; i = q.member[i]) order[at++] = i;
    return at;
}

}  // namespace

bool minimum_degree(Arena& scratch, const Graph& graph, double most, std::int32_t* order) {
    Quotient q;
    if (!make_room(scratch, graph, q)) return false;
    begin_quotient(graph, q);
    const std::int32_t hubs = set_hubs_aside(q);
    Index written = 0;
    for (double products = 0.0; q.taken < q.n;) {
        while (q.head[q.least] < 0) ++q.least;
        const std::int32_t pivot = q.head[q.least];
        if (q.free + q.degree[pivot] > q.list.size) close_gaps(q);
        if (q.free + q.degree[pivot] > q.list.size) return false;
        products += take_pivot(q, pivot);
        if (products > most) return false;
        written = write_members(q, pivot, written, order);
    }
    if (hubs >= 0) write_members(q, hubs, written, order);
    return true;
}

}  // namespace vb
