// errno after calls that succeed. The standards name free alone, but programs look at errno where a call in
// between may have allocated (strerror, stdio, a destructor), and no malloc has a reason to change it.
#include <thread>
#include <vector>

#include "check/contract/requests.h"

namespace contract {
namespace {

constexpr int mark = 4711;

template <class Call>
void* expect_errno_kept(const char* name, std::size_t size, Call call) {
  errno = mark;
  void* const given = call();
  const int now = errno;
  EXPECT_TRUE(given != nullptr || size == 0) << name << " of " << size << " bytes is refused";
  EXPECT_TRUE(now == mark || given == nullptr) << name << " of " << size << " bytes: errno is " << now;
  return given;
}

void expect_free_keeps_errno(void* memory, std::size_t size) {
  errno = mark;
  std::free(memory);
  EXPECT_EQ(errno, mark) << "free of " << size << " bytes";
}

// So many blocks at a time that the heap has to fetch memory for them.
std::size_t blocks_of(std::size_t size) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  return std::clamp<std::size_t>(at_once / (size + 1), 2, 300);
}

void request_every_size(const request& way) {
  void* blocks[300];
  for (const std::size_t size : sizes) {
    const std::size_t count = blocks_of(size);
    for (std::size_t i = 0; i < count; ++i) {
      blocks[i] = expect_errno_kept(way.name, size, [&] { return way.perform(opaque(size)); });
    }
    for (std::size_t i = 0; i < count; ++i) expect_free_keeps_errno(blocks[i], size);
  }
}

TEST(success, leaves_errno_alone) {
  for_each_request(request_every_size);
}

// Each function is the first that its thread calls.
TEST(success, leaves_errno_alone_in_a_new_thread) {
  for_each_request([](const request& way) { std::thread(request_every_size, std::cref(way)).join(); });
}

void* resized(void* block, std::size_t bytes) {
  return expect_errno_kept("realloc", bytes, [&] { return std::realloc(opaque(block), opaque(bytes)); });
}

void resize_from_every_size_to_every_size() {
  for (const std::size_t before : sizes)
    for (const std::size_t bytes : sizes)
      if (bytes > 0) expect_free_keeps_errno(resized(std::malloc(before), bytes), bytes);
}

TEST(success, of_realloc_leaves_errno_alone) {
  resize_from_every_size_to_every_size();
  std::thread(resize_from_every_size_to_every_size).join();
}

// A block that another thread has allocated often goes another way back.
TEST(success, with_another_threads_blocks_leaves_errno_alone) {
  std::vector<void*> blocks;
  std::thread([&] {
    for (const std::size_t size : sizes)
      for (std::size_t i = 0; i < blocks_of(size); ++i) blocks.push_back(std::malloc(size));
  }).join();
  std::size_t next = 0;
  for (const std::size_t size : sizes)
    for (std::size_t i = 0; i < blocks_of(size); ++i, ++next)
      expect_free_keeps_errno(i % 4 == 0 ? resized(blocks[next], size + 100) : blocks[next], size);
}

}  // namespace
}  // namespace contract
