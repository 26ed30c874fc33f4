// What the span-pool keeps of the memory of free spans, and when it gives it back.
#include "allocators/scalloc/pool/span_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "scalloc/pool_of.h"

namespace heaplab::scalloc {
namespace {

using kept_pool = span_pool<pool_traits<kept>>;
constexpr config one_zone = paper();
// Spans that take twice what is kept.
constexpr unsigned twice_the_bound = 2 * kept.retained_span_bytes / kept.fine_span_bytes;
// Two classes of the coarse zone, and what the smaller one leaves of a span of the other.
constexpr unsigned small_class = pool_traits<kept>::classes::index_of_computed(10 * kib);
constexpr unsigned large_class = pool_traits<kept>::classes::index_of_computed(16 * kib);
constexpr std::uint32_t tail = pool_traits<kept>::classes::table[large_class].real_span_bytes -
                               pool_traits<kept>::classes::table[small_class].real_span_bytes;

TEST(span_pool, keeps_memory_of_free_spans_up_to_the_bound) {
  pool_of<kept> tested;
  const auto all = tested.used(0, twice_the_bound);
  tested.put(all);
  EXPECT_LE(tested.pool.retained_bytes(), tested.bound());
  EXPECT_GE(tested.pool.retained_bytes(), tested.bound() - tested.bound() / 16 - kept.fine_span_bytes);
  EXPECT_EQ(tested.resident(), tested.pool.retained_bytes());
  EXPECT_EQ(all[0]->base[0], 1) << "kept";
  unsigned with_memory = 0;
  for (const auto* const span : all) with_memory += span->base[0] == 1 ? 1U : 0U;
  EXPECT_EQ(with_memory * kept.fine_span_bytes, tested.resident()) << "the others were given back";
}

TEST(span_pool, uses_spans_without_memory_last) {
  pool_of<kept> tested;
  const auto all = tested.used(0, twice_the_bound);
  tested.put(all);
  const std::size_t with_memory = tested.resident() / kept.fine_span_bytes;
  std::set<pool_of<kept>::span_type*> seen;
  for (std::size_t step = 0; step < all.size(); ++step) {
    auto* const span = tested.pool.get(tested.spans, 0, 0);
    ASSERT_NE(span, nullptr);
    EXPECT_TRUE(seen.insert(span).second) << "handed out twice";
    EXPECT_EQ(span->base[0] == 1, step < with_memory);
  }
  EXPECT_EQ(tested.pool.get(tested.spans, 0, 0), nullptr);
}

TEST(span_pool, loses_no_span_while_threads_exceed_the_bound) {
  constexpr unsigned threads = 4, each = twice_the_bound / threads;
  pool_of<kept> tested;
  // Neighbours in the arena belong to different threads.
  const auto all = tested.used(0, threads * each);
  const auto work = [&](unsigned thread) {
    std::vector<pool_of<kept>::span_type*> own;
    for (unsigned step = 0; step < each; ++step) own.push_back(all[step * threads + thread]);
    for (int round = 0; round < 50; ++round) {
      for (auto* const span : own) tested.pool.put(tested.spans, *span, thread);
      own.clear();
      for (unsigned step = 0; step < each; ++step) {
        auto* const span = tested.pool.get(tested.spans, 0, thread);
        if (span == nullptr) continue;  // in the hands of another thread at the moment
        span->set_resident_bytes(kept.fine_span_bytes);
        span->base[0] = 1;
        own.push_back(span);
      }
    }
    for (auto* const span : own) tested.pool.put(tested.spans, *span, thread);
  };
  {
    std::vector<std::jthread> team;
    for (unsigned thread = 0; thread < threads; ++thread) team.emplace_back(work, thread);
  }
  EXPECT_EQ(tested.resident(), tested.pool.retained_bytes());
  std::set<pool_of<kept>::span_type*> seen;
  while (auto* const span = tested.pool.get(tested.spans, 0, 0))
    EXPECT_TRUE(seen.insert(span).second) << "in the pool twice";
  EXPECT_EQ(seen.size(), all.size());
}

TEST(span_pool, purge_batch_gives_neighbours_back_in_one_range_and_nothing_between) {
  pool_of<kept> tested;
  const auto all = tested.used(0, 6);
  purge_batch<pool_traits<kept>> batch;
  for (const unsigned index : {4U, 0U, 1U, 5U}) batch.add(*all[index]);
  std::set<pool_of<kept>::span_type*> done;
  batch.flush(false, [&](auto& span) { done.insert(&span); });
  EXPECT_EQ(done.size(), 4U);
  for (unsigned index = 0; index < 6; ++index) {
    const bool kept_it = index == 2 || index == 3;
    EXPECT_EQ(all[index]->base[0], kept_it ? 1 : 0) << index;
    EXPECT_EQ(all[index]->resident_bytes() > 0, kept_it) << index;
  }
  batch.flush(false, [](auto&) { FAIL() << "it is empty"; });
}

TEST(span_pool, counts_out_what_is_used_again) {
  pool_of<kept> tested;
  tested.put(tested.used(0, 10));
  for (int step = 0; step < 10; ++step) EXPECT_NE(tested.pool.get(tested.spans, 0, 0), nullptr);
  EXPECT_EQ(tested.pool.retained_bytes(), 0U);
}

TEST(span_pool, trims_down_to_the_pad) {
  pool_of<kept> tested;
  const auto all = tested.used(0, 10);
  tested.put(all);
  EXPECT_TRUE(tested.pool.purge_all(tested.spans, 4 * kept.fine_span_bytes + 100));
  EXPECT_EQ(tested.pool.retained_bytes(), 4 * kept.fine_span_bytes);
  EXPECT_EQ(tested.resident(), tested.pool.retained_bytes());
  EXPECT_EQ(tested.pool.get(tested.spans, 0, 0)->base[0], 1) << "what has memory is used first";
  EXPECT_FALSE(tested.pool.purge_all(tested.spans, 4 * kept.fine_span_bytes));
  EXPECT_TRUE(tested.pool.purge_all(tested.spans, 0));
  EXPECT_EQ(tested.pool.retained_bytes(), 0U);
}

TEST(span_pool, keeps_nothing_where_retention_is_off) {
  tuning off{kept};
  off.retained_span_bytes = 0;
  pool_of<kept> tested{off};
  tested.put(tested.used(0, 3));
  EXPECT_FALSE(tested.pool.retains());
  EXPECT_EQ(tested.resident(), 0U);
}

TEST(span_pool, gives_back_what_a_second_did_not_need) {
  pool_of<kept> tested;
  tested.put(tested.used(0, 32));
  tested.pool.decay(tested.spans, 10'000);
  EXPECT_EQ(tested.pool.retained_bytes(), 32 * kept.fine_span_bytes) << "nothing is known of the time before";
  // Of 32 spans 8 come and go.
  std::vector<pool_of<kept>::span_type*> busy;
  for (int step = 0; step < 8; ++step) busy.push_back(tested.pool.get(tested.spans, 0, 0));
  tested.put(busy);
  tested.pool.decay(tested.spans, 10'499);
  EXPECT_EQ(tested.pool.until_decay(10'499), 1);
  tested.pool.decay(tested.spans, 10'500);
  EXPECT_EQ(tested.pool.until_decay(10'500), 500);
  tested.pool.decay(tested.spans, 10'999);
  EXPECT_EQ(tested.pool.retained_bytes(), 32 * kept.fine_span_bytes) << "the second is not over";
  tested.pool.decay(tested.spans, 11'000);
  EXPECT_EQ(tested.pool.retained_bytes(), 8 * kept.fine_span_bytes);
  EXPECT_EQ(tested.resident(), tested.pool.retained_bytes());
  EXPECT_EQ(tested.pool.get(tested.spans, 0, 0)->base[0], 1) << "what has memory is used first";
  tested.pool.decay(tested.spans, 11'500);
  EXPECT_EQ(tested.pool.retained_bytes(), 0U) << "since half a second before the last round";
}

TEST(span_pool, gives_all_back_in_one_round_after_a_long_silence) {
  pool_of<kept> tested;
  tested.pool.decay(tested.spans, 10'000);
  tested.put(tested.used(0, 32));
  tested.pool.decay(tested.spans, 10'500);
  EXPECT_EQ(tested.pool.retained_bytes(), 32 * kept.fine_span_bytes);
  tested.pool.decay(tested.spans, 11'500);
  EXPECT_EQ(tested.pool.retained_bytes(), 0U);
}

TEST(span_pool, asks_for_the_heaps_own_thread_from_a_bound_on) {
  constexpr unsigned worth = kept.idle_purge_bytes / kept.fine_span_bytes;
  pool_of<kept> tested;
  const auto all = tested.used(0, worth);
  counting_platform::requests.store(0, std::memory_order_relaxed);
  const auto requests = [] { return counting_platform::requests.load(std::memory_order_relaxed); };
  tested.put({all.begin(), all.begin() + worth * 4 / 5});
  EXPECT_EQ(requests(), 0U);
  tested.put({all.begin() + worth * 4 / 5, all.end()});
  EXPECT_GE(requests(), 1U);
  EXPECT_TRUE(tested.pool.retains_much());
}

TEST(span_pool, asks_again_after_the_heaps_own_thread_found_little) {
  constexpr unsigned worth = kept.idle_purge_bytes / kept.fine_span_bytes;
  pool_of<kept> tested;
  const auto all = tested.used(0, worth);
  tested.put(all);
  for (unsigned step = 0; step < worth; ++step) tested.pool.get(tested.spans, 0, 0);
  EXPECT_FALSE(tested.pool.retains_much());
  counting_platform::requests.store(0, std::memory_order_relaxed);
  tested.put(all);
  EXPECT_GE(counting_platform::requests.load(std::memory_order_relaxed), 1U);
}

TEST(span_pool, bounds_what_all_columns_retain) {
  pool_of<kept> tested;
  const auto all = tested.used(0, twice_the_bound);
  for (unsigned step = 0; step < all.size(); ++step) {
    tested.pool.put(tested.spans, *all[step], step % 2);
    EXPECT_LE(tested.pool.retained_bytes(), tested.bound());
  }
  EXPECT_GE(tested.pool.retained_bytes(), tested.bound() - tested.bound() / 8);
  EXPECT_TRUE(tested.pool.is_valid());
}

// --- while the background purge thread is there ---

class span_pool_with_purge_thread : public testing::Test {
protected:
  span_pool_with_purge_thread() { counting_platform::has_purge_thread = true; }
  ~span_pool_with_purge_thread() override { counting_platform::has_purge_thread = false; }

  // Coarse spans of two columns, of more than twice the bound. Returns their bytes.
  std::size_t fill_coarse() {
    const std::size_t each = pool_traits<kept>::classes::table[small_class].real_span_bytes;
    const auto all =
        tested_.used(small_class, static_cast<unsigned>(2 * kept.retained_span_bytes / each) + 4);
    for (unsigned step = 0; step < all.size(); ++step) tested_.pool.put(tested_.spans, *all[step], step % 2);
    return all.size() * each;
  }

  // Spans of two columns, four times the bound.
  std::vector<pool_of<kept>::span_type*> fill() {
    auto all = tested_.used(0, 2 * twice_the_bound);
    for (unsigned step = 0; step < all.size(); ++step) tested_.pool.put(tested_.spans, *all[step], step % 2);
    return all;
  }

  pool_of<kept> tested_;
};

TEST_F(span_pool_with_purge_thread, keeps_all_memory_of_fine_spans) {
  counting_platform::purges.store(0, std::memory_order_relaxed);
  const auto all = fill();
  EXPECT_EQ(counting_platform::purges.load(std::memory_order_relaxed), 0U);
  EXPECT_EQ(tested_.pool.retained_bytes(), all.size() * kept.fine_span_bytes);
  EXPECT_TRUE(tested_.pool.is_valid());
}

TEST_F(span_pool_with_purge_thread, leaves_decay_to_the_purge_thread) {
  const auto all = fill();
  tested_.pool.decay(tested_.spans, 1'000);
  tested_.pool.decay_without_purge_thread(tested_.spans);
  EXPECT_EQ(tested_.pool.retained_bytes(), all.size() * kept.fine_span_bytes);
  counting_platform::has_purge_thread = false;
  tested_.pool.decay_without_purge_thread(tested_.spans);
  EXPECT_EQ(tested_.pool.retained_bytes(), 0U) << "the clock of the system is far beyond a second";
}

// What is beyond the bound goes back, in the end all of that, and none of the rest.
TEST_F(span_pool_with_purge_thread, gives_way_to_memory_elsewhere) {
  fill();
  const std::size_t before = tested_.pool.retained_bytes(), bound = tested_.bound();
  tested_.pool.purge_for_growth(tested_.spans, 0, bound / 16 - 1);
  EXPECT_EQ(tested_.pool.retained_bytes(), before) << "a fraction of the bound goes at once";
  tested_.pool.purge_for_growth(tested_.spans, 1, 1);
  EXPECT_LE(tested_.pool.retained_bytes(), before - bound / 16);
  EXPECT_GE(tested_.pool.retained_bytes(), before - bound / 16 - kept.fine_span_bytes);
  tested_.pool.purge_for_growth(tested_.spans, 1, bound);
  tested_.pool.finish_purge_for_growth(tested_.spans);
  EXPECT_LE(tested_.pool.retained_bytes(), before - bound / 16 - bound);
  tested_.pool.purge_for_growth(tested_.spans, 0, 100 * bound);
  tested_.pool.finish_purge_for_growth(tested_.spans);
  EXPECT_LE(tested_.pool.retained_bytes(), bound);
  EXPECT_GT(tested_.pool.retained_bytes(), bound - kept.fine_span_bytes);
  const std::size_t after = tested_.pool.retained_bytes();
  tested_.pool.purge_for_growth(tested_.spans, 0, 100 * bound);
  tested_.pool.finish_purge_for_growth(tested_.spans);
  EXPECT_EQ(tested_.pool.retained_bytes(), after);
  EXPECT_EQ(tested_.resident(), after);
}

TEST_F(span_pool_with_purge_thread, gives_way_for_long_in_the_heaps_own_thread) {
  fill();
  const std::size_t before = tested_.pool.retained_bytes();
  counting_platform::hurries = 0;
  tested_.pool.purge_for_growth(tested_.spans, 0, kept_pool::purge_for_growth_bytes);
  EXPECT_EQ(counting_platform::hurries, 0U);
  tested_.pool.finish_purge_for_growth(tested_.spans);
  EXPECT_EQ(tested_.pool.retained_bytes(), before - kept_pool::purge_for_growth_bytes) << "nothing is left";
  tested_.pool.purge_for_growth(tested_.spans, 0, kept_pool::purge_for_growth_bytes + mib);
  EXPECT_EQ(counting_platform::hurries, 1U);
  EXPECT_EQ(tested_.pool.retained_bytes(), before - 2 * kept_pool::purge_for_growth_bytes);
  tested_.pool.finish_purge_for_growth(tested_.spans);
  EXPECT_EQ(tested_.pool.retained_bytes(), before - 2 * kept_pool::purge_for_growth_bytes - mib);
}

TEST_F(span_pool_with_purge_thread, keeps_all_memory_of_coarse_spans) {
  counting_platform::purges.store(0, std::memory_order_relaxed);
  const std::size_t all = fill_coarse();
  EXPECT_EQ(counting_platform::purges.load(std::memory_order_relaxed), 0U);
  EXPECT_EQ(tested_.pool.retained_bytes(), all);
  EXPECT_TRUE(tested_.pool.is_valid());
}

TEST_F(span_pool_with_purge_thread, gives_way_to_coarse_spans) {
  fill();
  const std::size_t before = tested_.pool.retained_bytes();
  const std::size_t growth = pool_traits<kept>::classes::table[large_class].real_span_bytes;
  EXPECT_EQ(tested_.pool.get(tested_.spans, large_class, 0), nullptr) << "the caller carves one";
  EXPECT_EQ(tested_.pool.retained_bytes(), before - growth);
}

TEST_F(span_pool_with_purge_thread, gives_way_to_fine_spans_a_fraction_of_the_bound_at_once) {
  const std::size_t before = fill_coarse();
  const auto share = static_cast<unsigned>(tested_.bound() / kept_pool::purge_divisor / kept.fine_span_bytes);
  for (unsigned step = 1; step < share; ++step) EXPECT_EQ(tested_.pool.get(tested_.spans, 0, 0), nullptr);
  EXPECT_EQ(tested_.pool.retained_bytes(), before);
  EXPECT_EQ(tested_.pool.get(tested_.spans, 0, 0), nullptr);
  EXPECT_LT(tested_.pool.retained_bytes(), before);
}

// The others give way to what the class may add to the span.
TEST_F(span_pool_with_purge_thread, gives_way_where_a_class_of_larger_real_spans_takes_a_span) {
  const std::size_t before = fill_coarse(),
                    taken = pool_traits<kept>::classes::table[small_class].real_span_bytes;
  ASSERT_NE(tested_.pool.get(tested_.spans, small_class, 0), nullptr);
  EXPECT_EQ(tested_.pool.retained_bytes(), before - taken) << "the span grows no more";
  constexpr unsigned growing = 3;
  for (unsigned step = 0; step < growing; ++step)
    ASSERT_NE(tested_.pool.get(tested_.spans, large_class, 0), nullptr);
  const std::size_t purged = before - (growing + 1) * taken - tested_.pool.retained_bytes();
  EXPECT_GE(purged, growing * tail - tested_.bound() / kept_pool::purge_divisor);
  EXPECT_LE(purged, growing * tail + taken);
}

TEST_F(span_pool_with_purge_thread, keeps_to_the_bound_where_the_user_set_one) {
  tuning chosen{kept};
  chosen.retains_beyond_bound = false;
  pool_of<kept> tested{chosen};
  tested.put(tested.used(0, twice_the_bound));
  EXPECT_LE(tested.pool.retained_bytes(), tested.bound());
}

TEST_F(span_pool_with_purge_thread, keeps_to_the_bound_where_nothing_is_purged_when_idle) {
  tuning chosen{kept};
  chosen.purges_when_idle = false;
  pool_of<kept> tested{chosen};
  tested.put(tested.used(0, twice_the_bound));
  EXPECT_LE(tested.pool.retained_bytes(), tested.bound());
}

// Whoever finds the stack empty in the meantime carves a new span.
TEST(span_pool, has_what_stays_within_reach_while_the_system_takes_the_rest) {
  pool_of<kept> tested;
  const auto all = tested.used(0, 32);
  tested.put(all);
  tested.pool.decay(tested.spans, 10'000);
  for (int step = 0; step < 8; ++step) tested.pool.get(tested.spans, 0, 0);
  tested.put({all.begin() + 24, all.end()});
  counting_platform::at_purge = [&] { EXPECT_EQ(tested.pool.get(tested.spans, 0, 0)->base[0], 1); };
  tested.pool.decay(tested.spans, 11'000);
  EXPECT_FALSE(counting_platform::at_purge) << "nothing was purged";
}

// --- tails: what a span keeps when it passes to a class of smaller real spans ---

TEST(span_pool, cuts_the_tail_of_a_reused_span_where_nothing_is_retained) {
  using paper_classes = pool_traits<one_zone>::classes;
  const unsigned of_1024 = paper_classes::index_of(1024), of_16 = paper_classes::index_of(16);
  tuning undisturbed{one_zone};
  undisturbed.purge_above = unlimited;
  pool_of<one_zone> tested{undisturbed};
  auto* const span = tested.used(of_1024, 1)[0];
  tested.pool.put(tested.spans, *span, 0);
  ASSERT_EQ(tested.pool.get(tested.spans, of_16, 0), span);
  EXPECT_EQ(span->resident_bytes(), paper_classes::table[of_16].real_span_bytes);
  EXPECT_EQ(tested.pool.tail_bytes(), 0U);
}

TEST(span_pool, makes_no_system_call_where_two_classes_take_a_span_by_turns) {
  pool_of<kept> tested;
  tested.used(0, 256);  // the fine zone
  auto* const span = tested.used(large_class, 1)[0];
  counting_platform::purges.store(0, std::memory_order_relaxed);
  for (int turn = 0; turn < 1000; ++turn) {
    for (const unsigned index : {small_class, large_class}) {
      tested.pool.put(tested.spans, *span, 0);
      ASSERT_EQ(tested.pool.get(tested.spans, index, 0), span);
      span->class_index.store(index, std::memory_order_relaxed);
      EXPECT_EQ(tested.pool.tail_bytes(), index == small_class ? tail : 0);
    }
  }
  EXPECT_EQ(counting_platform::purges.load(std::memory_order_relaxed), 0U);
}

TEST(span_pool, keeps_tails_up_to_a_bound_of_their_own) {
  pool_of<kept> tested;
  tested.used(0, 256);  // the fine zone
  const std::size_t bound = tested.spans.fine_bytes() / kept.retained_fine_divisor;
  const auto all = tested.used(large_class, static_cast<unsigned>(4 * bound / tail));
  for (auto* const span : all) {
    tested.pool.put(tested.spans, *span, 0);
    ASSERT_EQ(tested.pool.get(tested.spans, small_class, 0), span);
    span->class_index.store(small_class, std::memory_order_relaxed);
    EXPECT_LE(tested.pool.tail_bytes(), bound);
  }
  EXPECT_GT(tested.pool.tail_bytes(), bound - tail);
  std::size_t tails = 0;
  for (const auto* const span : all)
    tails += span->resident_bytes() - pool_traits<kept>::classes::table[small_class].real_span_bytes;
  EXPECT_EQ(tested.pool.tail_bytes(), tails);
  tested.put(all);
  EXPECT_EQ(tested.pool.tail_bytes(), 0U) << "free spans have no tails";
}

TEST(span_pool, counts_the_memory_that_the_system_refuses_to_take) {
  tuning off{kept};
  off.retained_span_bytes = 0;
  pool_of<kept> tested{off};
  auto* const span = tested.used(large_class, 1)[0];
  const std::uint32_t before = span->resident_bytes();
  counting_platform::refuses = true;
  tested.pool.put(tested.spans, *span, 0);
  ASSERT_EQ(tested.pool.get(tested.spans, small_class, 0), span);
  EXPECT_EQ(span->resident_bytes(), before);
  EXPECT_EQ(tested.pool.tail_bytes(), tail);
  span->class_index.store(small_class, std::memory_order_relaxed);
  counting_platform::refuses = false;
  tested.pool.put(tested.spans, *span, 0);
  EXPECT_EQ(span->resident_bytes(), 0U);
  EXPECT_EQ(tested.pool.tail_bytes(), 0U);
}

TEST(span_pool, has_a_column_for_every_processor_that_was_seen) {
  span_pool<test_traits<concurrent::std_sync, kept>> pool;
  pool.see_processor(0);
  EXPECT_EQ(pool.columns(), 1U);
  pool.see_processor(5);
  pool.see_processor(2);
  EXPECT_EQ(pool.columns(), 6U);
  pool.see_processor(4000);
  EXPECT_EQ(pool.columns(), pool.column_limit);
}

}  // namespace
}  // namespace heaplab::scalloc
