// What heaplab's own libraries do as glibc does, where POSIX leaves a choice that no program should rely on.
#include <cstdlib>

#include "check/contract/api.h"

namespace conformance {

using namespace contract;

namespace {

TEST(as_glibc, posix_memalign_sets_errno_where_memory_is_out) {
  void* memory = nullptr;
  errno = 0;
  EXPECT_EQ(posix_memalign(&memory, 64, opaque(SIZE_MAX)), ENOMEM);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(posix_memalign(&memory, opaque(std::size_t{3}), 100), EINVAL);
  EXPECT_EQ(errno, 0);
}

}  // namespace
}  // namespace conformance
