// Every interleaving of two threads at one bucket of the table, seen by a third thread as the reader of the
// file would see the table if the process were killed at that moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "explore/expect_sound.h"
#include "recorder/live_table.h"

namespace heaplab::recorder {
namespace {

using trace::raw_chunk;
using trace::raw_live_block;

struct explored_table_sync {
  template <class T>
  using atomic = explore::explored_atomic<T>;

  // Another thread may run before and after each operation: the fields of an entry that are no atomics are
  // read and written in between.
  template <class T>
  class atomic_ref {
  public:
    explicit atomic_ref(T& object) : object_(object) {}
    T load(std::memory_order) const {
      const between around;
      return object_;
    }
    void store(T value, std::memory_order) const {
      const between around;
      object_ = value;
    }
    bool compare_exchange_strong(T& expected, T wanted, std::memory_order, std::memory_order) const {
      const between around;
      const bool same = object_ == expected;
      (same ? object_ : expected) = same ? wanted : object_;
      return same;
    }

  private:
    struct between {
      between() { point(); }
      ~between() { point(); }
      static void point() {
        if (auto* const running = explore::explorer::running()) running->point();
      }
    };

    T& object_;
  };
};

// What an entry holds while a thread writes it: see live_table.h.
constexpr std::uint64_t being_written = 1;

raw_live_block block_of(std::uint64_t address) {
  return {trace::pack(address, trace::kind::malloc, 0), address + 2, address + 1};
}

bool is_whole(const raw_live_block& entry) {
  const raw_live_block wanted = block_of(trace::address_in(entry.what));
  return entry.size == wanted.size && entry.site == wanted.site;
}

// A table of one level, and the entries of the bucket in which addresses() lie.
class one_bucket {
public:
  one_bucket()
      : level_(static_cast<raw_chunk*>(std::aligned_alloc(sizeof(trace::raw_bucket), trace::raw_unit))) {
    std::fill_n(reinterpret_cast<char*>(level_.get()), trace::raw_unit, '\0');
    level_->bytes = trace::raw_unit;
    table.add(level_.get());
  }

  // Fills all but one entry with blocks at addresses()[2] and further.
  void leave_one_entry() {
    for (std::size_t number = 2; number <= entries().size(); ++number)
      table.put(block_of(addresses()[number]));
  }

  std::span<raw_live_block> entries() {
    auto* const buckets = reinterpret_cast<trace::raw_bucket*>(level_.get());
    for (std::size_t place = 1; place <= trace::buckets_of(*level_); ++place)
      if (std::ranges::any_of(buckets[place].blocks, [](const auto& entry) { return entry.what != 0; }))
        return buckets[place].blocks;
    return buckets[1].blocks;
  }

  // Addresses of the same bucket.
  static const std::vector<std::uint64_t>& addresses() {
    static const std::vector<std::uint64_t> found = find_addresses();
    return found;
  }

  basic_live_table<explored_table_sync> table;

private:
  struct release {
    void operator()(raw_chunk* chunk) const { std::free(static_cast<void*>(chunk)); }
  };

  static std::size_t place_of(std::uint64_t address) {
    one_bucket bucket;
    bucket.table.put(block_of(address));
    const auto entries = bucket.entries();
    return static_cast<std::size_t>(reinterpret_cast<std::byte*>(entries.data()) -
                                    reinterpret_cast<std::byte*>(bucket.level_.get()));
  }

  static std::vector<std::uint64_t> find_addresses() {
    constexpr std::size_t enough = 8;
    std::vector<std::uint64_t> found{64};
    for (std::uint64_t address = 128; found.size() < enough; address += 64)
      if (place_of(address) == place_of(found[0])) found.push_back(address);
    return found;
  }

  std::unique_ptr<raw_chunk, release> level_;
};

class live_table_interleavings : public ::testing::Test {
protected:
  // Runs two threads and the reader through all interleavings.
  void explore(bool nearly_full, const std::function<void()>& first, const std::function<void()>& second,
               const std::function<void()>& check) {
    const auto setup = [&] {
      bucket_ = std::make_unique<one_bucket>();
      if (nearly_full) bucket_->leave_one_entry();
    };
    const auto reader = [&] {
      explore::explorer::running()->point();
      for (const raw_live_block& entry : bucket_->entries())
        explore::require(entry.what == 0 || entry.what == being_written || is_whole(entry),
                         "a killed process leaves half an entry");
    };
    const explore::program all{.setup = setup, .threads = {first, second, reader}, .check = check};
    explore::expect_sound(explore::explorer(all, {.preemptions = 3}).explore(), 100);
  }

  void expect_whole(const std::optional<raw_live_block>& found, std::uint64_t address) {
    explore::require(found && trace::address_in(found->what) == address && is_whole(*found),
                     "a block is lost or another's");
  }

  std::uint64_t address(std::size_t number) { return one_bucket::addresses()[number]; }

  std::unique_ptr<one_bucket> bucket_;
};

TEST_F(live_table_interleavings, two_blocks_take_two_entries) {
  const auto put = [&](std::size_t number) {
    return [&, number] { explore::require(bucket_->table.put(block_of(address(number))), "no room"); };
  };
  explore(false, put(0), put(1), [&] {
    for (const std::size_t number : {0U, 1U})
      expect_whole(bucket_->table.take(address(number)), address(number));
  });
}

// A block is put into the entry that another one leaves.
TEST_F(live_table_interleavings, an_entry_is_left_before_it_is_used_again) {
  bool put = false;
  const auto takes = [&] { expect_whole(bucket_->table.take(address(2)), address(2)); };
  const auto puts = [&] {
    put = bucket_->table.put(block_of(address(0))) && bucket_->table.put(block_of(address(1)));
  };
  explore(true, takes, puts, [&] {
    expect_whole(bucket_->table.take(address(0)), address(0));
    if (put) expect_whole(bucket_->table.take(address(1)), address(1));
  });
}

}  // namespace
}  // namespace heaplab::recorder
