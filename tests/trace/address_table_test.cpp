#include "trace/file/address_table.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace heaplab::trace {
namespace {

TEST(address_table, does_what_a_map_does) {
  std::mt19937_64 random(1);
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  address_table table;
  for (int step = 0; step < 300'000; ++step) {
    // Few addresses, so that they meet; their number swells and shrinks.
    const std::uint64_t address = 16 * (1 + random() % 5000);
    const auto found = model.find(address);
    const std::optional<std::uint64_t> before =
        found == model.end() ? std::nullopt : std::optional(found->second);
    if (random() % 8000 > static_cast<std::uint64_t>(step) % 8000) {
      ASSERT_EQ(table.put(address, random()), before);
      model[address] = *table.take(address);
      ASSERT_EQ(table.put(address, model[address]), std::nullopt);
    } else {
      ASSERT_EQ(table.take(address), before);
      model.erase(address);
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

TEST(address_table, holds_no_address_0) {
  address_table table;
  EXPECT_EQ(table.take(0), std::nullopt);
}

}  // namespace
}  // namespace heaplab::trace
