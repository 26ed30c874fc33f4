#include "allocators/scalloc/policy/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "allocators/scalloc/policy/variants.h"

namespace heaplab::scalloc {
namespace {

constexpr config knobs = standard();

class settings_test : public testing::Test {
protected:
  void TearDown() override {
    for (const setting& row : setting_table) unsetenv(row.variable);
  }
  // What read_environment says on standard error with `variable` set to `value`.
  std::string read(const char* variable, const char* value) {
    setenv(variable, value, 1);
    testing::internal::CaptureStderr();
    read_environment(result_);
    return testing::internal::GetCapturedStderr();
  }
  void expect_defaults() const {
    EXPECT_EQ(result_.arena_bytes, knobs.arena_bytes);
    EXPECT_EQ(result_.reuse_percent, knobs.reuse_percent);
    EXPECT_EQ(result_.purge_above, knobs.purge_above);
    EXPECT_EQ(result_.retained_span_bytes, knobs.retained_span_bytes);
    EXPECT_EQ(result_.retained_large_bytes, knobs.retained_large_bytes);
    EXPECT_EQ(result_.purge_at_once, knobs.purge_at_once);
    EXPECT_EQ(result_.huge_pages, knobs.huge_pages);
    EXPECT_TRUE(result_.purges_when_idle);
  }
  tuning result_{knobs};
};

TEST_F(settings_test, keeps_the_defaults_of_the_config) {
  read_environment(result_);
  expect_defaults();
  EXPECT_FALSE(result_.statistics_at_exit);
}

TEST_F(settings_test, takes_usable_values) {
  EXPECT_EQ(read("HEAPLAB_SCALLOC_REUSE_PERCENT", "0"), "");
  EXPECT_EQ(result_.reuse_percent, 0U);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_REUSE_PERCENT", "100"), "");
  EXPECT_EQ(result_.reuse_percent, 100U);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_MADVISE_ABOVE", "64KiB"), "");
  EXPECT_EQ(result_.purge_above, 64 * kib);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_MADVISE_ABOVE", "never"), "");
  EXPECT_EQ(result_.purge_above, unlimited);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_RETAIN", "1GiB"), "");
  EXPECT_EQ(result_.retained_span_bytes, 1024 * mib);
  EXPECT_EQ(result_.retained_large_bytes, 1024 * mib);
  EXPECT_FALSE(result_.retains_beyond_bound) << "the bound of the user's is a bound";
  EXPECT_EQ(read("HEAPLAB_SCALLOC_RETAIN", "0"), "");
  EXPECT_EQ(result_.retained_span_bytes, 0U);
  EXPECT_EQ(result_.retained_large_bytes, 0U);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_ARENA", "8MiB"), "");
  EXPECT_EQ(result_.arena_bytes, 8 * mib);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_ARENA", "1073741824"), "");
  EXPECT_EQ(result_.arena_bytes, std::size_t{1} << 30);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_HUGE_PAGES", "always"), "");
  EXPECT_EQ(result_.huge_pages, huge_page_policy::always);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_HUGE_PAGES", "never"), "");
  EXPECT_EQ(result_.huge_pages, huge_page_policy::never);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_PURGE_AT_ONCE", "1"), "");
  EXPECT_TRUE(result_.purge_at_once);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_PURGE_AT_ONCE", "0"), "");
  EXPECT_FALSE(result_.purge_at_once);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_PURGE_WHEN_IDLE", "0"), "");
  EXPECT_FALSE(result_.purges_when_idle);
  EXPECT_EQ(read("HEAPLAB_SCALLOC_STATISTICS", "1"), "");
  EXPECT_TRUE(result_.statistics_at_exit);
}

TEST_F(settings_test, says_one_line_for_an_unusable_value_and_keeps_the_default) {
  const std::pair<const char*, const char*> unusable[] = {
      {"HEAPLAB_SCALLOC_REUSE_PERCENT", "101"},  {"HEAPLAB_SCALLOC_REUSE_PERCENT", ""},
      {"HEAPLAB_SCALLOC_REUSE_PERCENT", "-1"},   {"HEAPLAB_SCALLOC_REUSE_PERCENT", "50%"},
      {"HEAPLAB_SCALLOC_MADVISE_ABOVE", "much"}, {"HEAPLAB_SCALLOC_MADVISE_ABOVE", "64kb"},
      {"HEAPLAB_SCALLOC_RETAIN", "never"},       {"HEAPLAB_SCALLOC_ARENA", "7MiB"},
      {"HEAPLAB_SCALLOC_ARENA", "2TiB"},         {"HEAPLAB_SCALLOC_ARENA", "18446744073709551616"},
      {"HEAPLAB_SCALLOC_ARENA", "16777216TiB"},  {"HEAPLAB_SCALLOC_HUGE_PAGES", "sometimes"},
      {"HEAPLAB_SCALLOC_STATISTICS", "yes"},     {"HEAPLAB_SCALLOC_PURGE_AT_ONCE", "never"},
      {"HEAPLAB_SCALLOC_PURGE_WHEN_IDLE", "no"},
  };
  for (const auto& [variable, value] : unusable) {
    const std::string said = read(variable, value);
    EXPECT_EQ(said.find("heaplab: " + std::string(variable) + "=" + value + ": wanted is "), 0U) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    unsetenv(variable);
  }
  expect_defaults();
}

}  // namespace
}  // namespace heaplab::scalloc
