// Which records of free spans lose their memory, and that no span is lost or handed out twice over it.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "allocators/scalloc/arena/dropped_records.h"
#include "allocators/scalloc/pool/purged_spans.h"
#include "base/os_pages.h"
#include "scalloc/pool_of.h"

namespace heaplab::scalloc {
namespace {

using pool = pool_of<kept>;
using span_type = pool::span_type;

class record_sweep_test : public ::testing::Test {
protected:
  // Spans of whole pages of records, all of them purged.
  std::vector<span_type*> purged(std::uint32_t pages) {
    const auto all = tested_.used(0, pages * page_);
    tested_.put(all);
    tested_.pool.purge_all(tested_.spans, 0);
    return all;
  }
  void sweep() { tested_.pool.sweep_records(tested_.spans, os_pages::page_bytes()); }

  // The span as after a tenure in which blocks were handed out.
  static span_type* used(span_type& span) {
    const span_word word = span.load_word(std::memory_order_relaxed).take();
    span.word.store(word.retire().all_free().bits(), std::memory_order_relaxed);
    span.set_resident_bytes(kept.fine_span_bytes);
    span.base[0] = 1;
    return &span;
  }

  // The record of a carved span names the span's place.
  static bool is_dropped(const span_type& record) { return record.base == nullptr; }
  static std::size_t dropped(const std::vector<span_type*>& all) {
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [](const span_type* record) { return is_dropped(*record); }));
  }

  // All spans that the pool hands out, and then `carved` new ones.
  std::set<span_type*> taken(std::size_t carved) {
    std::set<span_type*> result;
    while (span_type* const span = tested_.pool.get(tested_.spans, 0, 0))
      EXPECT_TRUE(result.insert(span).second) << "handed out twice";
    for (std::size_t step = 0; step < carved; ++step) {
      span_type* const span = tested_.spans.carve(true, 0);
      EXPECT_TRUE(result.insert(span).second) << "handed out twice";
      EXPECT_EQ(tested_.spans.find(span->base), span);
      EXPECT_EQ(span->load_word(std::memory_order_relaxed).state(), span_state::expected);
    }
    return result;
  }

  const std::uint32_t page_ = dropped_records<pool_traits<kept>>::spans_in_page();
  pool tested_;
};

TEST_F(record_sweep_test, drops_the_records_of_spans_without_memory) {
  const auto all = purged(200);
  sweep();
  EXPECT_EQ(dropped(all), all.size());
  EXPECT_EQ(tested_.pool.get(tested_.spans, 0, 0), nullptr);
  const std::size_t carved = tested_.spans.fine_bytes();
  EXPECT_EQ(taken(all.size()), std::set(all.begin(), all.end())) << "before new ones";
  EXPECT_EQ(tested_.spans.fine_bytes(), carved);
  tested_.spans.carve(true, 0);
  EXPECT_GT(tested_.spans.fine_bytes(), carved);
}

TEST_F(record_sweep_test, leaves_the_last_page_that_is_not_full) {
  auto all = tested_.used(0, 3 * page_ + 1);
  tested_.put(all);
  tested_.pool.purge_all(tested_.spans, 0);
  sweep();
  EXPECT_EQ(dropped(all), 3 * page_);
  EXPECT_EQ(tested_.pool.get(tested_.spans, 0, 0), all.back());
}

TEST_F(record_sweep_test, leaves_a_page_with_a_span_that_is_used_or_has_memory) {
  const auto all = purged(6);
  std::set<std::uint32_t> pages_in_use;
  for (int step = 0; step < 2; ++step) {
    span_type* const used = tested_.pool.get(tested_.spans, 0, 0);
    pages_in_use.insert(tested_.spans.number_of(*used) / page_);
    if (step == 0) continue;
    used->set_resident_bytes(kept.fine_span_bytes);
    tested_.pool.put(tested_.spans, *used, 0);
  }
  sweep();
  for (const span_type* const span : all) {
    const std::uint32_t number = tested_.spans.number_of(*span);
    EXPECT_EQ(is_dropped(*span), !pages_in_use.contains(number / page_)) << number;
  }
  const std::size_t gone = all.size() - pages_in_use.size() * page_;
  EXPECT_EQ(taken(gone).size(), all.size() - 1) << "but the used one";
}

TEST_F(record_sweep_test, sweeps_again_and_again) {
  const auto all = purged(4);
  for (int round = 0; round < 5; ++round) {
    sweep();
    ASSERT_EQ(dropped(all), all.size());
    for (std::uint32_t step = 0; step < all.size(); ++step)
      tested_.put({used(*tested_.spans.carve(true, 0))});
    EXPECT_TRUE(tested_.pool.purge_all(tested_.spans, 0));
  }
}

TEST_F(record_sweep_test, lets_epochs_go_on) {
  const auto all = purged(1);
  const auto high = span_word::expected(1'000'000).take().retire().all_free();
  all[3]->word.store(high.bits(), std::memory_order_relaxed);
  sweep();
  ASSERT_EQ(dropped(all), all.size());
  for (const span_type* const span : taken(all.size()))
    EXPECT_GT(span->load_word(std::memory_order_relaxed).epoch(), high.epoch());
}

TEST_F(record_sweep_test, leaves_epochs_that_begin_anew_soon) {
  const auto all = purged(2);
  const auto late = span_word::expected(span_word::epoch_limit / 2).take().retire().all_free();
  all[0]->word.store(late.bits(), std::memory_order_relaxed);
  sweep();
  EXPECT_EQ(dropped(all), page_);
  EXPECT_EQ(taken(page_).size(), all.size());
}

TEST_F(record_sweep_test, loses_no_span_where_the_system_refuses) {
  const auto all = purged(3);
  counting_platform::refuses = true;
  sweep();
  counting_platform::refuses = false;
  EXPECT_EQ(dropped(all), 0U);
  EXPECT_EQ(taken(0), std::set(all.begin(), all.end()));
}

// Every other page has a span in use.
TEST_F(record_sweep_test, leaves_records_between_too_many_spans_in_use) {
  constexpr std::uint32_t most_runs = 256, runs = most_runs + 3;
  const auto all = tested_.used(0, 2 * runs * page_);
  std::vector<span_type*> free;
  for (std::uint32_t index = 0; index < all.size(); ++index)
    if (index % (2 * page_) != 0) free.push_back(all[index]);
  tested_.put(free);
  tested_.pool.purge_all(tested_.spans, 0);
  sweep();
  EXPECT_EQ(dropped(all), most_runs * page_);
  EXPECT_EQ(taken(most_runs * page_), std::set(free.begin(), free.end()));
}

TEST_F(record_sweep_test, waits_until_much_may_go) {
  constexpr std::size_t enough = 1 * mib;
  const std::uint32_t worth = enough / sizeof(span_type) / page_;
  auto all = purged(worth - 1);
  tested_.pool.sweep_records(tested_.spans, enough);
  EXPECT_EQ(dropped(all), 0U);
  all = purged(1);
  tested_.pool.sweep_records(tested_.spans, enough);
  EXPECT_EQ(dropped(all), page_);
}

// Threads take spans, fill and empty them while two others sweep.
TEST_F(record_sweep_test, loses_no_span_while_threads_use_the_pool) {
  constexpr unsigned threads = 3, rounds = 200;
  const auto all = purged(8);
  const auto work = [&](unsigned thread) {
    for (unsigned round = 0; round < rounds; ++round) {
      std::vector<span_type*> own;
      for (unsigned step = 0; step < page_; ++step) {
        span_type* const span = tested_.pool.get(tested_.spans, 0, thread);
        own.push_back(used(span == nullptr ? *tested_.spans.carve(true, 0) : *span));
      }
      for (span_type* const span : own) tested_.pool.put(tested_.spans, *span, thread);
      tested_.pool.purge_all(tested_.spans, 0);
    }
  };
  {
    std::vector<std::jthread> team;
    for (unsigned thread = 0; thread < threads; ++thread) team.emplace_back(work, thread);
    for (unsigned thread = 0; thread < 2; ++thread)
      team.emplace_back([this] {
        for (unsigned round = 0; round < rounds; ++round) sweep();
      });
  }
  sweep();
  const std::size_t carved = tested_.spans.fine_bytes() / kept.fine_span_bytes;
  const std::size_t pooled = taken(0).size();
  EXPECT_EQ(taken(carved - pooled).size(), carved - pooled);
  EXPECT_EQ(tested_.spans.fine_bytes() / kept.fine_span_bytes, carved) << "a span was lost";
}

}  // namespace
}  // namespace heaplab::scalloc
