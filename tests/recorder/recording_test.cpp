// The recorder without the functions that it puts before malloc, which leaves malloc to the sanitizers: they
// watch what the recorder's threads share.
#include "recorder/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "recorder/system_call_filters.h"
#include "trace/file/trace_file.h"
#include "trace/finish/finish.h"
#include "trace/finish/stamp_test.h"

namespace heaplab::recorder {
namespace {

using trace::kind;

[[gnu::noinline]] void* acquired(std::size_t size) {
  return acquire(kind::malloc, size, 0, HEAPLAB_SITE, [=] { return std::malloc(size); });
}

[[gnu::noinline]] void* resized(void* block, std::size_t size) {
  return reallocate(kind::realloc_from, kind::realloc_to, block, size, HEAPLAB_SITE,
                    [=] { return std::realloc(block, size); });
}

[[gnu::noinline]] void released(void* block) {
  release(kind::free, block, 0, 0, HEAPLAB_CALLER, [=] { std::free(block); });
}

// Blocks that threads pass to each other.
class exchanged_blocks {
public:
  ~exchanged_blocks() {
    for (auto& place : places_) released(place.load());
  }

  void pass_on(std::uint64_t seed, int calls) {
    std::uint64_t random = 7919 * seed + 1;
    for (int call = 0; call < calls; ++call) {
      random = random * 6364136223846793005U + 1;
      const std::size_t size = 16 + (random >> 40) % 200;
      void* const found = places_[random >> 33 & 63].exchange(acquired(size));
      if (found != nullptr && call % 4 == 0)
        released(resized(found, 2 * size));
      else
        released(found);
    }
  }

private:
  std::atomic<void*> places_[64]{};
};

// A recording of this process, with call stacks, that waits.
class recording : public testing::Test {
protected:
  recording() {
    std::filesystem::create_directory(folder_);
    const auto stamps = trace::counter_orders_threads() ? trace::stamps::counter : trace::stamps::tickets;
    const trace::raw_control page{.magic = trace::control_magic,
                                  .stamps = stamps,
                                  .state = trace::recording::waiting,
                                  .begins_late = 1,
                                  .stacks = 1,
                                  .instructions = 1,
                                  .filters = filters_here()};
    const auto file = folder_ / "control";
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(&page), sizeof page);
    std::filesystem::resize_file(file, trace::control_bytes);
    ::setenv("HEAPLAB_RECORD", folder_.c_str(), 1);
  }
  ~recording() override { std::filesystem::remove_all(folder_); }

  static void turn(trace::recording state) {
    control.load(std::memory_order_acquire)->state.store(state, std::memory_order_relaxed);
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("heaplab-recording-" + std::to_string(::getpid()));
};

TEST_F(recording, of_a_window_has_all_blocks_in_order) {
  constexpr int at_once = 8;
  constexpr int children = 10;  // of each thread, one after the other: they fill the chunks of each other's
  {
    exchanged_blocks blocks;
    blocks.pass_on(0, 1000);
    std::vector<std::thread> threads;
    for (int thread = 1; thread <= at_once; ++thread)
      threads.emplace_back([&blocks, thread] {
        blocks.pass_on(static_cast<std::uint64_t>(thread), 5000);
        while (recording_state() != trace::recording::on) std::this_thread::yield();
        for (int child = 0; child < children; ++child)
          std::thread([&blocks] { blocks.pass_on(at_once + 2, 100); }).join();
      });
    blocks.pass_on(at_once + 1, 1000);
    turn(trace::recording::on);
    for (std::thread& thread : threads) thread.join();
  }
  turn(trace::recording::off);

  const std::string path = folder_ / "x.trace";
  trace::finish(folder_, path, [](auto, auto) {});
  const trace::trace_file file(path);
  ASSERT_EQ(file.processes().size(), 1U);
  const trace::properties& found = file.processes()[0].summary;
  EXPECT_EQ(found.number("lost"), 0U);
  EXPECT_EQ(found.number("acquired_while_live"), 0U);
  EXPECT_EQ(found.number("released_unknown"), 0U);
  EXPECT_EQ(found.number("live_blocks"), 0U);
  EXPECT_GT(found.number("lived_blocks"), 0U);
  EXPECT_GE(found.number("acquisitions"), at_once * children * 100U);
  EXPECT_GE(found.number("threads"), at_once * children);
  // The instructions of each thread are counted, or each is told as not counted: as the machine lends
  // counters.
  EXPECT_EQ(found.number("uncounted_threads"),
            found.number("instructions") > 0 ? 0 : found.number("threads"));
  EXPECT_TRUE(file.damage().empty());
}

}  // namespace
}  // namespace heaplab::recorder
