// Functions about the heap as a whole: the C23 functions with sizes, malloc_usable_size, mallinfo and related
// functions.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check/amount.h"
#include "check/contract/api.h"

namespace contract {
namespace {

TEST(sized_free, takes_blocks_back) {
  HEAPLAB_NEED("free_sized", "free_aligned_sized");
  using free_aligned_sized_function = void(void*, std::size_t, std::size_t);
  auto* const free_sized = reinterpret_cast<free_sized_function*>(dlsym(RTLD_DEFAULT, "free_sized"));
  auto* const free_aligned_sized =
      reinterpret_cast<free_aligned_sized_function*>(dlsym(RTLD_DEFAULT, "free_aligned_sized"));
  ASSERT_NE(free_sized, nullptr);
  ASSERT_NE(free_aligned_sized, nullptr);
  free_sized(nullptr, 0);
  free_aligned_sized(nullptr, 64, 0);
  for (const std::size_t size : sizes) {
    errno = 4711;
    free_sized(std::malloc(size), size);
    free_sized(std::calloc(1, size), size);
    free_aligned_sized(aligned_alloc(256, size), 256, size);
    EXPECT_EQ(errno, 4711) << size;
  }
}

TEST(usable_size, of_null_is_zero) {
  HEAPLAB_NEED("malloc_usable_size");
  EXPECT_EQ(malloc_usable_size(opaque<void*>(nullptr)), 0U);
}

TEST(usable_size, may_all_be_used) {
  HEAPLAB_NEED("malloc_usable_size");
  std::vector<block> blocks;
  const auto add = [&](std::size_t size) {
    blocks.emplace_back(std::malloc(size));
    ASSERT_GE(malloc_usable_size(blocks.back().get()), size);
  };
  // A smaller block may be cut from a larger block that was handed out before.
  for (int round = 0; round < 3; ++round) {
    std::for_each(std::begin(sizes), std::end(sizes), add);
    std::for_each(std::rbegin(sizes), std::rend(sizes), add);
  }
  const auto usable = [](const block& memory) { return opaque(malloc_usable_size(memory.get())); };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (usable(blocks[i]) < 2000000)
      fill(opaque(blocks[i].get()), usable(blocks[i]), static_cast<unsigned>(i));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (usable(blocks[i]) >= 2000000) continue;
    EXPECT_TRUE(holds(blocks[i].get(), usable(blocks[i]), static_cast<unsigned>(i))) << i;
  }
}

TEST(introspection, mallinfo_counts_what_is_live) {
  HEAPLAB_NEED("mallinfo", "mallinfo2");
  const auto live = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = live();
  std::vector<block> blocks;
  for (int i = 0; i < 4000; ++i) blocks.emplace_back(std::calloc(1, 1000));
  blocks.emplace_back(std::calloc(1, 20 << 20));
  EXPECT_GE(live(), before + std::size_t{4000} * 1000 + (20 << 20));
  EXPECT_GE(mallinfo().uordblks + mallinfo().hblkhd, 4000 * 1000 + (20 << 20));
}

// Free blocks between others that are in use, so that no library joins them.
TEST(introspection, mallinfo_counts_free_blocks) {
  HEAPLAB_NEED("mallinfo", "mallinfo2");
  std::vector<block> blocks;
  for (int i = 0; i < 2000; ++i) blocks.emplace_back(std::malloc(1000));
  const std::size_t before = mallinfo2().ordblks;
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
  const std::size_t after = mallinfo2().ordblks;
  // A library may keep some of the blocks that were freed last apart, and join others with free neighbours.
  EXPECT_GE(after, before + 700);
  EXPECT_LE(after, before + 1100);
  EXPECT_EQ(static_cast<std::size_t>(mallinfo().ordblks), mallinfo2().ordblks);
}

TEST(introspection, mallinfo_forgets_what_is_freed) {
  HEAPLAB_NEED("mallinfo2");
  block(std::malloc(30 << 20)).reset();
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  block(std::malloc(30 << 20)).reset();
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd, before + (20 << 20));
}

TEST(introspection, trim_says_whether_it_gave_back) {
  HEAPLAB_NEED("malloc_trim");
  std::vector<block> blocks;
  for (int i = 0; i < 20000; ++i) blocks.emplace_back(std::calloc(1, 1000));
  blocks.clear();
  const int result = malloc_trim(0);
  EXPECT_TRUE(result == 0 || result == 1) << result;
}

std::ptrdiff_t resident_bytes() {
  std::ptrdiff_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// malloc_trim keeps the requested number of free bytes if they were there: in small blocks, and in large
// ones.
TEST(introspection, trim_keeps_the_pad) {
  HEAPLAB_NEED("malloc_trim");
  constexpr std::size_t mebibyte = 1 << 20;
  constexpr std::ptrdiff_t pad = 12 * mebibyte, slack = 3 * mebibyte;
  for (const std::size_t size : {std::size_t{1000}, 3 * mebibyte}) {
    std::vector<block> blocks(24 * mebibyte / size);
    malloc_trim(0);
    // The library may hold free memory already and give back some: what was gained may be negative.
    const std::ptrdiff_t without = resident_bytes();
    for (block& memory : blocks) {
      memory.reset(std::malloc(size));
      ASSERT_NE(memory, nullptr);
      std::memset(memory.get(), 1, size);
    }
    for (block& memory : blocks) memory.reset();
    const std::ptrdiff_t before = resident_bytes() - without;
    malloc_trim(pad);
    const std::ptrdiff_t kept = resident_bytes() - without;
    EXPECT_GE(kept + slack, std::min(before, pad)) << size;
    malloc_trim(0);
    EXPECT_LE(resident_bytes(), without + before + slack) << size;
  }
}

struct filled {
  block memory;
  std::size_t size;

  bool is_intact(unsigned seed) const { return memory == nullptr || holds(memory.get(), size, seed); }
};

// malloc_trim gives back pages on which no block lies: neither those beside a large free block nor those of a
// block that is alone among free ones.
TEST(introspection, trim_leaves_what_is_live) {
  HEAPLAB_NEED("malloc_trim");
  constexpr std::size_t lengths[] = {24, 100, 700, 3000, 4096, 5000, 20'000, 70'000, 200'000, 1'200'000};
  constexpr std::size_t bytes_of_each = std::size_t{1} << 20;
  constexpr unsigned freed_of_1000[] = {300, 700, 950, 995};
  std::minstd_rand random;
  std::vector<filled> all;
  const unsigned rounds = heaplab::check::is_short() ? 4 : 16;
  for (unsigned round = 0; round < rounds; ++round) {
    const auto allocate = [&] {
      for (const std::size_t size : lengths)
        for (std::size_t i = 0; i < bytes_of_each / size + 2; ++i) {
          all.push_back(
              {block(i % 5 == 0 ? aligned_alloc(256, (size + 255) / 256 * 256) : std::malloc(size)), size});
          ASSERT_NE(all.back().memory, nullptr) << size;
          fill(all.back().memory.get(), size, static_cast<unsigned>(all.size()));
        }
    };
    all.clear();
    allocate();
    std::thread(allocate).join();
    for (filled& kept : all)
      if (random() % 1000 < freed_of_1000[round % 4]) kept.memory.reset();
    malloc_trim(round % 2 == 0 ? 0 : bytes_of_each);
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_TRUE(all[i].is_intact(static_cast<unsigned>(i + 1))) << all[i].size << " bytes, round " << round;
  }
}

TEST(introspection, mallopt_accepts_glibcs_parameters) {
  HEAPLAB_NEED("mallopt");
  EXPECT_EQ(mallopt(M_ARENA_MAX, 2), 1);
  EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
}

TEST(introspection, malloc_info_writes_xml) {
  HEAPLAB_NEED("malloc_info");
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(malloc_info(0, file), 0);
  ASSERT_EQ(std::fseek(file, 0, SEEK_SET), 0);
  char text[65536] = {};
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  const std::string xml(text, length);
  EXPECT_TRUE(xml.starts_with("<malloc version=\"1\"")) << xml;
  EXPECT_TRUE(xml.ends_with("</malloc>\n")) << xml;
}

TEST(introspection, malloc_info_refuses_unknown_options) {
  HEAPLAB_NEED("malloc_info");
  EXPECT_EQ(malloc_info(1, stderr), EINVAL);
}

TEST(introspection, malloc_stats_writes_to_standard_error) {
  HEAPLAB_NEED("malloc_stats");
  testing::internal::CaptureStderr();
  malloc_stats();
  EXPECT_FALSE(testing::internal::GetCapturedStderr().empty());
}

}  // namespace
}  // namespace contract
