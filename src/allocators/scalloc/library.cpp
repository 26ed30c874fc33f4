#include "allocators/scalloc/policy/variants.h"
#include "allocators/scalloc/scalloc_heap.h"
#include "shim/probed_heap.h"

namespace heaplab::scalloc {
inline constexpr config library_config = HEAPLAB_SCALLOC_VARIANT();
}

namespace heaplab::shim {
using bound_heap = with_probes<scalloc::scalloc_heap<scalloc::library_config>>;
}

#include "shim/bind.h"

#ifdef HEAPLAB_BIND_C
#include "allocators/scalloc/limits_api.h"
#ifdef HEAPLAB_SCALLOC_DEFINES_VFORK
#include "allocators/scalloc/vfork_api.h"
#endif

// Bytes that malloc_trim(0) gives back, but for what threads have at hand. Takes locks, as malloc_trim does.
extern "C" HEAPLAB_EXPORT std::size_t malloc_returnable() noexcept {
  return heaplab::shim::bound_heap::returnable_bytes();
}

[[gnu::destructor]] static void end_process() {
  heaplab::shim::bound_heap::end_process();
}
#endif
