#include "probes/memory_maps.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace heaplab::probes {
namespace {

mapped_memory sum_of(std::initializer_list<std::string_view> lines) {
  maps_reader reader("/bin/program name");
  for (const std::string_view line : lines) reader.add_line(line);
  return reader.sum();
}

TEST(memory_maps, tells_files_from_the_program) {
  const mapped_memory sum = sum_of({"1000-3000 r-xp 00000000 08:01 77        /bin/program name",
                                    "8000-9000 r--p 00000000 08:01 78        /lib/libc.so.6",
                                    "9000-a000 rw-p 00001000 08:01 78        /lib/libc.so.6"});
  EXPECT_EQ(sum.files, 0x2000U);
  EXPECT_EQ(sum.total(), 0x2000U);
}

// What brk has moved may be shown in two areas, when their rights differ.
TEST(memory_maps, counts_what_adjoins_the_heap_as_heap) {
  const mapped_memory sum = sum_of({"1000-3000 rw-p 00000000 00:00 0         [heap]",
                                    "3000-4000 ---p 00000000 00:00 0 ", "5000-9000 rw-p 00000000 00:00 0 "});
  EXPECT_EQ(sum.heap, 0x3000U);
  EXPECT_EQ(sum.mmap, 0x4000U);
}

TEST(memory_maps, leaves_out_stack_and_kernel) {
  const mapped_memory sum =
      sum_of({"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [anon:arena]",
              "7f0000001000-7f0000003000 rw-p 00000000 00:00 0          [stack]",
              "7f0000003000-7f0000004000 r--p 00000000 00:00 0          [vvar]",
              "7f0000004000-7f0000005000 r-xp 00000000 00:00 0          [vdso]", "no area at all", ""});
  EXPECT_EQ(sum.mmap, 0x1000U);
  EXPECT_EQ(sum.total(), 0x1000U);
}

// Many areas: longer than the buffer of the reader.
TEST(memory_maps, sees_every_area_of_this_process) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t areas = 1000;
  const mapped_memory before = read_memory_maps();
  EXPECT_GT(before.files, 1U << 20) << "the C library alone";
  auto* const space = static_cast<std::byte*>(
      ::mmap(nullptr, areas * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(space, MAP_FAILED);
  for (std::size_t i = 0; i < areas; i += 2) ::mprotect(space + i * page, page, PROT_READ);
  const mapped_memory after = read_memory_maps();
  ::munmap(space, areas * page);
  EXPECT_EQ(after.mmap - before.mmap, areas * page);
  EXPECT_EQ(after.files, before.files);
}

}  // namespace
}  // namespace heaplab::probes
