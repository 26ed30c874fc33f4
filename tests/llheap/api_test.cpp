// The extended interface as exported by the libraries; this program's malloc is llheap.
#include <gtest/gtest.h>
#include <heaplab/llheap.h>
#include <malloc.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

extern "C" int use_llheap_from_c();
// Decisions of this program.
extern "C" size_t malloc_mmap_start() {
  return 5 << 20;
}
extern "C" size_t malloc_unfreed() {
  return SIZE_MAX;
}

namespace {

TEST(api, is_usable_from_c) {
  EXPECT_EQ(use_llheap_from_c(), 0);
}

void expect_refused(void* result, int error) {
  EXPECT_EQ(result, nullptr);
  EXPECT_EQ(errno, error);
  errno = 0;
}

TEST(api, a_product_that_overflows_is_out_of_memory) {
  void* block = malloc(10);
  for (const auto& [count, size] :
       {std::pair<size_t, size_t>{SIZE_MAX / 2 + 2, 2}, {SIZE_MAX, SIZE_MAX}, {PTRDIFF_MAX, 2}}) {
    errno = 0;
    expect_refused(aalloc(count, size), ENOMEM);
    expect_refused(amemalign(64, count, size), ENOMEM);
    expect_refused(cmemalign(64, count, size), ENOMEM);
    expect_refused(aligned_reallocarray(block, 64, count, size), ENOMEM);
    expect_refused(resizearray(malloc(1), count, size), ENOMEM);
    expect_refused(aligned_resizearray(malloc(1), 64, count, size), ENOMEM);
    EXPECT_EQ(posix_reallocarray(&block, count, size), ENOMEM);
    EXPECT_EQ(posix_aligned_reallocarray(&block, 64, count, size), ENOMEM);
    EXPECT_EQ(errno, 0);
  }
  EXPECT_EQ(malloc_request_size(block), 10U);
  free(block);
}

TEST(api, what_is_no_alignment_is_invalid) {
  void* block = malloc(10);
  for (size_t bad : {size_t{0}, size_t{3}, size_t{48}, SIZE_MAX}) {
    errno = 0;
    expect_refused(amemalign(bad, 1, 1), EINVAL);
    expect_refused(cmemalign(bad, 1, 1), EINVAL);
    expect_refused(aligned_resize(block, bad, 1), EINVAL);
    expect_refused(aligned_realloc(block, bad, 1), EINVAL);
    void* unchanged = nullptr;
    EXPECT_EQ(posix_memalign(&unchanged, bad, 1), EINVAL);
    EXPECT_EQ(posix_aligned_realloc(&block, bad, 1), EINVAL);
  }
  EXPECT_EQ(posix_aligned_realloc(&block, 2, 1), EINVAL);
  EXPECT_EQ(malloc_request_size(block), 10U);
  free(block);
}

TEST(api, null_stands_for_no_block) {
  EXPECT_EQ(malloc_alignment(nullptr), 16U);
  EXPECT_EQ(malloc_request_size(nullptr), 0U);
  EXPECT_FALSE(malloc_zero_fill(nullptr));
  EXPECT_FALSE(malloc_remote(nullptr));
  void* block = nullptr;
  EXPECT_EQ(posix_realloc(&block, 100), 0);
  EXPECT_EQ(malloc_request_size(block), 100U);
  free(block);
  free(resize(nullptr, 10));
  void* const aligned = aligned_realloc(nullptr, 4096, 10);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 4096, 0U);
  EXPECT_EQ(malloc_alignment(aligned_resize(aligned, 128, 10)), 128U);
}

TEST(api, the_posix_forms_keep_pointer_and_contents) {
  void* block = strdup("contents");
  ASSERT_EQ(posix_aligned_realloc(&block, 1 << 16, 100'000), 0);
  EXPECT_STREQ(static_cast<char*>(block), "contents");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (1 << 16), 0U);
  void* const before = block;
  EXPECT_EQ(posix_realloc(&block, PTRDIFF_MAX), ENOMEM);
  EXPECT_EQ(block, before);
  free(block);
}

TEST(api, malloc_remote_is_true_of_others_blocks_only) {
  void* const block = malloc(100);
  EXPECT_FALSE(malloc_remote(block));
  std::thread([&] {
    void* const own = malloc(100);
    EXPECT_FALSE(malloc_remote(own));
    EXPECT_TRUE(malloc_remote(block));
    free(own);
  }).join();
  free(block);
}

TEST(api, calloc_and_aligned_allocation_stick_through_realloc) {
  void* block = calloc(10, 10);
  EXPECT_TRUE(malloc_zero_fill(block));
  memset(block, 1, 100);
  block = realloc(block, 100'000);
  EXPECT_EQ(static_cast<char*>(block)[99], 1);
  EXPECT_EQ(static_cast<char*>(block)[100], 0);
  free(block);
  block = realloc(aligned_alloc(512, 10), 5000);
  EXPECT_EQ(malloc_alignment(block), 512U);
  free(block);
}

TEST(api, the_program_and_mallopt_choose_the_mapping_threshold) {
  const auto is_mapped = [](size_t size) {
    const size_t before = mallinfo2().hblks;
    void* volatile const block = malloc(size);  // volatile: the pair must not be optimised away
    const bool mapped = mallinfo2().hblks > before;
    free(block);
    return mapped;
  };
  EXPECT_FALSE(is_mapped(5 << 20));
  EXPECT_TRUE(is_mapped((5 << 20) + 1));
  EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
  EXPECT_TRUE(is_mapped(2 << 20));
  EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, -1), 0);
  EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, 5 << 20), 1);
}

TEST(api, statistics_go_where_they_are_sent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(malloc_stats_fd(ends[1]), 2);
  EXPECT_FALSE(malloc_stats_all(true));
  malloc_stats_clear();
  malloc_stats();
  heap_stats();
  EXPECT_TRUE(malloc_stats_all(false));
  EXPECT_EQ(malloc_stats_fd(2), ends[1]);
  close(ends[1]);
  char text[16384];
  const ssize_t length = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  ASSERT_GT(length, 0);
  text[length] = '\0';
  EXPECT_EQ(strncmp(text, "llheap: areas count ", 20), 0) << text;
  EXPECT_NE(strstr(text, "llheap: bucket bytes "), nullptr);
}

}  // namespace
