// Making and freeing handles without the C++ runtime.
#pragma once

#include <cstdlib>
#include <new>
#include <utility>

#include "common/status.hpp"
#include "vbmle.h"

namespace vb {

inline vb_status code(Status status) { return static_cast<vb_status>(status); }

// A handle in memory of its own; null where there is none.
template <class Handle, class... Arguments>
Handle* make_handle(Arguments&&... arguments) {
    void* memory = std::malloc(sizeof(Handle));
    if (memory == nullptr) return nullptr;
    return new (memory) Handle(std::forward<Arguments>(arguments)...);
}

template <class Handle>
void free_handle(Handle* handle) {
    if (handle == nullptr) return;
    handle->~Handle();
    std::free(static_cast<void*>(handle));
}

}  // namespace vb
