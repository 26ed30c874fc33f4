// A heap of three threads whose spans have pages, and which of these pages have memory.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/os_pages.h"
#include "concurrent/sync.h"
#include "scalloc/holed_heap.h"

namespace heaplab::scalloc::testing {

inline bool has_memory(const char* page) {
  unsigned char state = 0;
  EXPECT_EQ(::mincore(const_cast<char*>(page), 1, &state), 0);
  return (state & 1) != 0;
}

template <const config& Config, class Sync = concurrent::std_sync>
class sweep_of : public ::testing::Test {
protected:
  void SetUp() override {
    fake_platform::reset();
    hooked_platform::before_purge = nullptr;
    tested_ = std::make_unique<holed_heap<Sync, Config>>(3);
  }
  ~sweep_of() override { hooked_platform::before_purge = nullptr; }

  // Thread 0 has `filled` blocks, of which it then frees the first `freed`.
  void start(unsigned filled, unsigned freed) {
    tested_->fill(filled);
    release(0, freed);
  }
  void sweep_meanwhile(std::function<void()> others) {
    hooked_platform::before_purge = std::move(others);
    EXPECT_TRUE(tested_->holes.sweep_all());
    hooked_platform::before_purge = nullptr;
  }
  void expect_spans_in_use(unsigned count) {
    EXPECT_EQ(tested_->spans_in(span_state::hot) + tested_->spans_in(span_state::floating), count)
        << "a block was lost";
  }
  // Frees blocks [first, end) by a thread.
  void release(unsigned first, unsigned end, unsigned thread = 0) {
    for (; first < end; ++first) tested_->release(thread, first);
  }
  // Of the span of a block.
  unsigned pages_with_memory(unsigned block) {
    const char* const base = tested_->span_of(tested_->blocks[block]).base;
    unsigned count = 0;
    for (std::size_t offset = 0; offset < Config.fine_span_bytes; offset += os_pages::page_bytes())
      count += has_memory(base + offset) ? 1U : 0U;
    return count;
  }
  std::uint32_t holes_around(unsigned block) {
    const auto& span = tested_->span_of(tested_->blocks[block]);
    return span.holes | span.hot_holes.load(std::memory_order_relaxed);
  }

  std::unique_ptr<holed_heap<Sync, Config>> tested_;
};

}  // namespace heaplab::scalloc::testing
