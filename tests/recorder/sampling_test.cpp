// A process that samples itself: of this mean distance every block is a sample, so that all amounts are
// known.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "recorder/recording.h"
#include "recorder/system_call_filters.h"

namespace heaplab::recorder {
namespace {

using trace::kind;

constexpr std::size_t large = 64;  // smaller blocks may have no sample

[[gnu::noinline]] void* acquired(std::size_t size) {
  return acquire(kind::malloc, size, 0, HEAPLAB_SITE, [=] { return std::malloc(size); });
}

[[gnu::noinline]] void* resized(void* block, std::size_t size) {
  return reallocate(kind::realloc_from, kind::realloc_to, block, size, HEAPLAB_SITE,
                    [=] { return size > SIZE_MAX / 2 ? nullptr : std::realloc(block, size); });
}

[[gnu::noinline]] void released(void* block) {
  release(kind::free, block, 0, 0, HEAPLAB_CALLER, [=] { std::free(block); });
}

// What lies in the file of a process.
struct sampled_file {
  explicit sampled_file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    auto header = std::make_unique<trace::raw_header>();
    stream.read(reinterpret_cast<char*>(header.get()), sizeof *header);
    std::vector<char> content(header->bytes.load(std::memory_order_relaxed));
    stream.seekg(0);
    stream.read(content.data(), static_cast<std::streamsize>(content.size()));
    for (std::size_t at = trace::raw_header_bytes; at < content.size(); at += trace::raw_unit)
      read_table(content.data() + at);
  }

  void read_table(const char* at) {
    const auto& table = *reinterpret_cast<const trace::raw_chunk*>(at);
    if (table.magic == trace::table_magic)
      for (std::size_t bucket = 1; bucket <= trace::buckets_of(table); ++bucket)
        for (const trace::raw_live_block& block :
             reinterpret_cast<const trace::raw_bucket*>(at)[bucket].blocks)
          if (trace::address_in(block.what) != 0) {
            live_bytes += block.size;
            on_watched_pages += (block.site & (trace::first_page_watched | trace::last_page_watched)) != 0;
          }
    if (table.magic != trace::sites_magic) return;
    for (std::size_t place = 1; place < table.bytes / sizeof(trace::raw_site); ++place) {
      const auto& site = reinterpret_cast<const trace::raw_site*>(at)[place];
      if (site.key.load(std::memory_order_relaxed) == 0) continue;
      ++sites;
      most_frames = std::max(most_frames, site.frames);
      samples += site.samples.load(std::memory_order_relaxed);
      bytes += site.bytes.load(std::memory_order_relaxed);
      for (const auto& lives : site.lives) ended += lives.load(std::memory_order_relaxed);
    }
  }

  std::size_t sites = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ended = 0;
  std::uint64_t live_bytes = 0;
  std::size_t on_watched_pages = 0;  // blocks
  std::uint64_t most_frames = 0;
};

// This process is sampled from the first test on.
class sampling : public testing::Test {
protected:
  sampling() {
    if (make_recording(folder, 1)) ::setenv("HEAPLAB_RECORD", folder.c_str(), 1);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static bool make_recording(const std::filesystem::path& in, std::uint64_t sample_bytes,
                             std::uint64_t page_period = 0) {
    if (!std::filesystem::create_directory(in)) return false;
    const trace::raw_control page{.magic = trace::control_magic,
                                  .stamps = trace::stamps::counter,
                                  .state = trace::recording::sampling,
                                  .filters = filters_here(),
                                  .sample_bytes = sample_bytes,
                                  .page_period = page_period};
    const auto file = in / "control";
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(&page), sizeof page);
    std::filesystem::resize_file(file, trace::control_bytes);
    return true;
  }

  static sampled_file of(pid_t process, const std::filesystem::path& in = folder) {
    const std::string end = hexadecimal(static_cast<std::uint64_t>(process)) + ".raw";
    for (const auto& entry : std::filesystem::directory_iterator(in))
      if (entry.path().string().ends_with("-" + end)) return sampled_file(entry.path());
    ADD_FAILURE() << end;
    std::abort();
  }

  static std::string hexadecimal(std::uint64_t number) {
    char text[17];
    ::snprintf(text, sizeof text, "%016lx", number);
    return text;
  }

  inline static const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("heaplab-sampling-" + std::to_string(::getpid()));
};

TEST_F(sampling, counts_blocks_of_many_threads_and_forgets_those_that_are_released) {
  constexpr unsigned at_once = 8;
  constexpr std::size_t calls = 5000;
  released(acquired(large));  // while the file is being opened, calls of other threads are lost
  std::atomic<void*> places[64]{};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < at_once; ++thread)
    threads.emplace_back([&places, thread] {
      for (std::size_t call = 0; call < calls; ++call) {
        void* const found = places[(call * 7 + thread) % 64].exchange(acquired(large + call % 100));
        if (call % 4 == 0 && found != nullptr)
          released(resized(found, 2 * large));
        else
          released(found);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (auto& place : places) released(place.exchange(nullptr));
  const sampled_file found = of(::getpid());
  EXPECT_GE(found.samples, at_once * calls);
  EXPECT_EQ(found.samples, found.ended);
  EXPECT_EQ(found.live_bytes, 0U);
  EXPECT_GE(found.bytes, at_once * calls * large);
}

TEST_F(sampling, knows_what_lives_and_what_reallocation_and_failure_leave_behind) {
  void* const kept = acquired(1000);
  const sampled_file before = of(::getpid());
  void* block = acquired(300);
  EXPECT_EQ(of(::getpid()).live_bytes, before.live_bytes + 300);
  block = resized(block, 5000);
  EXPECT_EQ(of(::getpid()).live_bytes, before.live_bytes + 5000);
  EXPECT_EQ(resized(block, SIZE_MAX), nullptr);
  const sampled_file found = of(::getpid());
  EXPECT_EQ(found.live_bytes, before.live_bytes + 5000);
  EXPECT_EQ(found.samples, before.samples + 2);
  EXPECT_EQ(found.bytes, before.bytes + 5300);
  released(block);
  EXPECT_EQ(of(::getpid()).live_bytes, before.live_bytes);
  EXPECT_EQ(of(::getpid()).ended, before.ended + 2);
  released(kept);
}

TEST_F(sampling, takes_null_for_no_block_where_a_sample_shares_its_count) {
  void* const first = reinterpret_cast<void*>(0x1'0000'0000);  // its page has the count of null
  acquire(kind::malloc, large, 0, HEAPLAB_SITE, [=] { return first; });
  const sampled_file before = of(::getpid());
  released(nullptr);
  EXPECT_EQ(of(::getpid()).ended, before.ended);
  release(kind::free, first, 0, 0, HEAPLAB_CALLER, [] {});
  EXPECT_EQ(of(::getpid()).live_bytes, before.live_bytes - large);
}

TEST_F(sampling, leaves_blocks_of_before_alone_and_counts_no_call_within_another) {
  const sampled_file before = (released(acquired(large)), of(::getpid()));
  released(std::malloc(large));
  void* const block = acquire(kind::calloc, 500, 0, HEAPLAB_SITE, [] { return acquired(500); });
  const sampled_file found = of(::getpid());
  EXPECT_EQ(found.samples, before.samples + 1);
  EXPECT_EQ(found.ended, before.ended);
  released(block);
}

TEST_F(sampling, begins_anew_in_a_child_of_fork) {
  void* const inherited = acquired(700);
  const std::uint64_t samples = of(::getpid()).samples;
  const pid_t child = ::fork();
  if (child == 0) {
    released(inherited);
    acquired(900);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const sampled_file found = of(child);
  EXPECT_EQ(found.samples, 1U);
  EXPECT_EQ(found.live_bytes, 900U);
  EXPECT_EQ(of(::getpid()).samples, samples);
  released(inherited);
}

TEST_F(sampling, tells_sites_apart_by_their_stacks) {
  const sampled_file before = (released(acquired(large)), of(::getpid()));
  released(acquired(large));
  released(acquired(large));
  EXPECT_EQ(of(::getpid()).sites, before.sites + 2);
  EXPECT_GT(before.most_frames, 1U);
}

constexpr std::uint64_t further_than_all = std::uint64_t{1} << 50;  // no block is a sample

TEST_F(sampling, remembers_all_blocks_of_watched_pages_but_not_in_a_child) {
  const auto in = folder / "pages";
  const pid_t child = ::fork();
  if (child == 0) {
    bool worked = make_recording(in, further_than_all, 1) && begin_again(in.c_str());
    std::vector<void*> blocks;
    for (std::size_t count = 0; count < 100; ++count) blocks.push_back(acquired(large + count));
    for (std::size_t count = 0; count < 60; ++count) released(std::exchange(blocks[count], nullptr));
    blocks[60] = resized(blocks[60], 3 * large);
    worked = worked && resized(blocks[61], SIZE_MAX) == nullptr;
    const sampled_file found = of(::getpid(), in);
    worked = worked && found.on_watched_pages == 40 && found.samples == 0 && found.ended == 0;
    const pid_t copy = ::fork();
    if (copy == 0) {
      acquired(large);
      ::_exit(pages_watched.any() ? 1 : 0);
    }
    int status = -1;
    ::waitpid(copy, &status, 0);
    ::_exit(worked && status == 0 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// In a child, so that the other tests go on with their recording.
TEST_F(sampling, draws_distances_anew_for_each_recording) {
  const auto seldom = folder / "seldom", often = folder / "often";
  const pid_t child = ::fork();
  if (child == 0) {
    bool began = make_recording(seldom, further_than_all) && begin_again(seldom.c_str());
    std::thread([&] {
      released(acquired(large));
      std::thread([&] { began = began && make_recording(often, 1) && begin_again(often.c_str()); }).join();
      released(acquired(large));
    }).join();
    ::_exit(began ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(of(child, seldom).samples, 0U);
  EXPECT_EQ(of(child, often).samples, 1U);
}

}  // namespace
}  // namespace heaplab::recorder
