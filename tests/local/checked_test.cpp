#include "heaplab/local/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <future>
#include <list>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "heaplab/local/resource.h"

namespace heaplab::local {
namespace {

using std_monotonic = std::pmr::monotonic_buffer_resource;

template <class Resource>
std::string told_of(const checked<Resource>& of) {
  std::ostringstream out;
  of.print(out);
  return out.str();
}

void fill(std::pmr::memory_resource& memory, int elements = 1000) {
  std::pmr::list<int> made(&memory);
  for (int i = 0; i < elements; ++i) made.push_back(i);
}

template <class Resource>
void rounds(checked<Resource>& memory, bool releases) {
  for (int round = 0; round < 20; ++round) {
    fill(memory);
    if (releases) memory.release();
  }
}

// A benchmark that was published with this mistake took page faults for the cost of the resource.
TEST(checked, finds_a_monotonic_buffer_that_no_round_releases) {
  checked<std_monotonic> forgotten;
  rounds(forgotten, false);
  EXPECT_EQ(forgotten.faults(), never_released);
  EXPECT_NE(told_of(forgotten).find("20 rounds of at most 24000 bytes; call release()"), std::string::npos)
      << told_of(forgotten);
  checked<monotonic_resource> ours;
  rounds(ours, false);
  EXPECT_EQ(ours.faults(), never_released);
}

// A comparison that was published with this mistake measured the upstream.
TEST(checked, finds_a_buffer_that_is_too_small) {
  std::array<std::byte, 4096> small;
  checked<std_monotonic> memory(static_cast<void*>(small.data()), small.size());
  fill(memory);
  EXPECT_EQ(memory.faults(), outgrown);
  EXPECT_EQ(told_of(memory).find("outgrown: 24000 bytes were asked for"), 0U) << told_of(memory);
  checked<monotonic_resource> ours(monotonic_options{.buffer = small});
  fill(ours);
  EXPECT_EQ(ours.faults(), outgrown);
}

TEST(checked, finds_nothing_where_resources_do_their_work) {
  std::vector<std::byte> enough(32000);
  checked<std_monotonic> buffered(static_cast<void*>(enough.data()), enough.size());
  rounds(buffered, true);
  EXPECT_EQ(buffered.faults(), 0U) << told_of(buffered);
  checked<monotonic_resource> released;
  rounds(released, true);
  EXPECT_EQ(released.faults(), 0U) << told_of(released);
  EXPECT_EQ(released.use().upstream_bytes, 0U);
  checked<std::pmr::unsynchronized_pool_resource> pools;
  rounds(pools, false);
  EXPECT_EQ(pools.faults(), 0U) << told_of(pools);
  checked<multipool_resource> ours;
  rounds(ours, false);
  EXPECT_EQ(ours.faults(), 0U) << told_of(ours);
}

TEST(checked, finds_blocks_that_a_multipool_passes_on) {
  checked<multipool_resource> memory;
  for (int i = 0; i < 100; ++i) std::pmr::vector<char>(5000, &memory);
  EXPECT_EQ(memory.faults(), passing_on) << told_of(memory);
}

// An upstream in which the calls of two threads meet.
class meeting_place final : public std::pmr::memory_resource {
public:
  void meet(std::size_t threads) { expected_ = threads; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    std::unique_lock guard(lock_);
    ++inside_;
    arrived_.notify_all();
    arrived_.wait(guard, [this] { return inside_ >= expected_; });
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::mutex lock_;
  std::condition_variable arrived_;
  std::size_t expected_ = 1;
  std::size_t inside_ = 0;
};

// Has no state that unsynchronized calls could damage.
class passing_resource final : public std::pmr::memory_resource {
public:
  explicit passing_resource(std::pmr::memory_resource* upstream) : upstream_(upstream) {}

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return upstream_->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    upstream_->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::pmr::memory_resource* upstream_;
};

TEST(checked, finds_a_resource_that_threads_share_unsynchronized) {
  meeting_place meeting;
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&meeting);
  {
    checked<passing_resource> memory;
    const auto call = [&memory] { memory.deallocate(memory.allocate(1, 8), 1, 8); };
    call();
    std::async(std::launch::async, call).get();
    EXPECT_EQ(memory.use().threads, 2U);
    EXPECT_EQ(memory.faults(), 0U);  // one after the other
  }
  {
    checked<passing_resource> memory;
    meeting.meet(4);  // two calls were above
    auto other =
        std::async(std::launch::async, [&memory] { memory.deallocate(memory.allocate(1, 8), 1, 8); });
    memory.deallocate(memory.allocate(1, 8), 1, 8);
    other.get();
    EXPECT_EQ(memory.faults(), shared);
    EXPECT_EQ(told_of(memory).find("shared: calls of 2 threads overlapped"), 0U) << told_of(memory);
  }
  std::pmr::set_default_resource(before);
}

}  // namespace
}  // namespace heaplab::local
