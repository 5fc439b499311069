// Memory of a handle: taken while the handle is made, given back all at once when it goes.
//
// Lay everything out first, ask `failed()` once, then fill. Nothing is taken from an arena in a step; what a step may turn
// out to need has an arena of its own (`inner`).
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>

#include "common/view.hpp"

namespace vb {

class Arena {
public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() {
        clear();
        while (inner_ != nullptr) {
            Arena* next = inner_->beside_;
            inner_->~Arena();
            std::free(static_cast<void*>(inner_));
            inner_ = next;
        }
    }

    // Gives back all that was taken.
    void clear() {
        while (last_ != nullptr) {
            Piece* before = last_->before;
            std::free(last_);
            last_ = before;
        }
        failed_ = false;
    }

    // An arena that lasts as long as this one, for what is needed later, if at all, and made anew now and then. Null where
    // memory has run out.
    Arena* inner() {
        void* memory = std::malloc(sizeof(Arena));
        if (memory == nullptr) {
            failed_ = true;
            return nullptr;
        }
        Arena* made = new (memory) Arena;
        made->beside_ = inner_;
        inner_ = made;
        return made;
    }

    // n zeroed elements, aligned for wide vectors; an empty view where n is 0 or memory has run out.
    template <class T>
    View<T> take(Index n) {
        return typed<T>(n, true);
    }

    // The same without zeros, for room of which little may be used: pages that are never written cost nothing.
    template <class T>
    View<T> take_unfilled(Index n) {
        return typed<T>(n, false);
    }

    Matrix matrix(Index rows, Index cols) {
        Index entries = 0;
        failed_ = __builtin_mul_overflow(rows, cols, &entries) || failed_;
        return {take<double>(failed_ ? 0 : entries).data, rows, cols};
    }

    bool failed() const { return failed_; }

    // Overwrites all that was taken with NaN and -1. For tests: of scratch, nothing may be read before it is written.
    void spoil() {
        for (Piece* piece = last_; piece != nullptr; piece = piece->before) std::memset(piece + 1, 0xff, piece->size);
    }

private:
    static constexpr std::size_t kAlign = 64;
    static constexpr Index kMostBytes = Index{1} << 62;
    struct alignas(64) Piece {
        Piece* before;
        std::size_t size;  // of what follows
    };

    template <class T>
    View<T> typed(Index n, bool zeroed) {
        if (n <= 0) return {nullptr, 0};
        if (n > kMostBytes / static_cast<Index>(sizeof(T))) {
            failed_ = true;
            return {nullptr, 0};
        }
        return {static_cast<T*>(bytes(static_cast<std::size_t>(n) * sizeof(T), zeroed)), failed_ ? 0 : n};
    }

    void* bytes(std::size_t wanted, bool zeroed) {
        std::size_t whole = (sizeof(Piece) + wanted + kAlign - 1) / kAlign * kAlign;
        Piece* piece = static_cast<Piece*>(std::aligned_alloc(kAlign, whole));
        if (piece == nullptr) {
            failed_ = true;
            return nullptr;
        }
        if (zeroed) std::memset(static_cast<void*>(piece), 0, whole);
        piece->before = last_;
        piece->size = whole - sizeof(Piece);
        last_ = piece;
        return piece + 1;
    }

    Piece* last_ = nullptr;
    Arena* inner_ = nullptr;   // the newest of its own
    Arena* beside_ = nullptr;  // the one made before this, within the same
    bool failed_ = false;
};

}  // namespace vb
