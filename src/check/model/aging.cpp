// Usage: aging OPERATIONS | aging MINUTES min | aging OPERATIONS LIVE GiB
//
// One heap that ages: blocks of many sizes come and go, the mixture of sizes shifts all the time, and every
// block must keep its contents until it is freed. At most 96 MiB are live, or so many GiB, for which twice as
// much memory must be available. The peak of memory must stay within a bound that every
// allocator with reuse between sizes keeps: peak_factor times the peak of live bytes, plus an allowance for
// the start. Reports the peaks. Exit statuses: see ending.h.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "check/blocks.h"
#include "check/ending.h"
#include "check/model/operation.h"
#include "probes/machine_memory.h"
#include "probes/process_memory.h"

namespace {

using namespace heaplab::check;
using heaplab::testing::fill;
using heaplab::testing::holds;

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t usual_live = 96 * mebibyte;
constexpr std::uint64_t slots_for_usual = 60'000;
constexpr double peak_factor = 4;
constexpr std::uint64_t begin_bytes = 64 * mebibyte;
constexpr std::size_t sample_bytes = 128;

struct slot {
  unsigned char* block = nullptr;
  std::size_t size = 0;
  unsigned seed = 0;

  std::size_t sample() const { return std::min(size, sample_bytes); }
  unsigned char* last() const { return block + size - sample(); }
};

class aging_heap {
public:
  explicit aging_heap(std::uint64_t most_live)
      : most_live_(most_live), slots_(most_live / usual_live * slots_for_usual) {}

  void step(std::uint64_t number) {
    slot& held = slots_[random_.below(static_cast<unsigned>(slots_.size()))];
    if (held.block != nullptr && random_.below(8) == 0) return resize(held, number);
    release(held);
    const std::size_t size = shifting_size(number);
    if (live_ + size > most_live_) return;
    held = {static_cast<unsigned char*>(std::malloc(size)), size, static_cast<unsigned>(number)};
    require(held.block != nullptr, "a block is refused");
    enter(held);
  }
  void release_all() {
    for (slot& held : slots_) release(held);
  }
  std::uint64_t peak_live() const { return peak_live_; }

private:
  // Sizes around a centre that moves from 32 B to 32 KiB and back; one block in 2000 is large.
  std::size_t shifting_size(std::uint64_t number) {
    if (random_.below(2000) == 0) return mebibyte + random_.below(4 * mebibyte);
    const unsigned phase = static_cast<unsigned>(number / 200'000 % 20);
    const unsigned power = 5 + (phase < 10 ? phase : 19 - phase);
    return 1 + random_.next() % (std::size_t{2} << power);
  }

  void enter(const slot& held) {
    live_ += held.size;
    peak_live_ = std::max(peak_live_, live_);
    fill(held.last(), held.sample(), held.seed + 1);
    fill(held.block, held.sample(), held.seed);
  }
  void check(const slot& held) const {
    require(holds(held.block, held.sample(), held.seed), "contents lost");
    const bool apart = held.size >= 2 * sample_bytes;  // the two samples do not overlap
    require(!apart || holds(held.last(), held.sample(), held.seed + 1),
            "contents lost at the end of a block");
  }
  void release(slot& held) {
    if (held.block == nullptr) return;
    check(held);
    live_ -= held.size;
    std::free(held.block);
    held.block = nullptr;
  }
  void resize(slot& held, std::uint64_t number) {
    check(held);
    const std::size_t size = std::min(held.size / 2 + random_.next() % (held.size + 1) + 1, 8 * mebibyte);
    auto* const moved = static_cast<unsigned char*>(std::realloc(held.block, size));
    require(moved != nullptr, "a block is refused to change its size");
    require(holds(moved, std::min(size, held.sample()), held.seed), "realloc: contents lost");
    live_ -= held.size;
    held = {moved, size, static_cast<unsigned>(number)};
    enter(held);
  }

  random_numbers random_{1};
  std::uint64_t most_live_, live_ = 0, peak_live_ = 0;
  std::vector<slot> slots_;
};

struct request {
  std::uint64_t number;  // of operations, or of minutes
  bool minutes;
  std::uint64_t most_live;
};

// Nothing: wrong usage.
std::optional<request> read(int count, char** arguments) {
  const auto number_at = [&](int at) { return count > at ? std::strtoull(arguments[at], nullptr, 10) : 0; };
  const std::string_view unit = count > 2 ? arguments[count - 1] : "";
  const bool minutes = count == 3 && unit == "min", gib = count == 4 && unit == "GiB";
  if (number_at(1) == 0 || (count != 2 && !minutes && !gib) || (gib && number_at(2) == 0))
    return std::nullopt;
  return request{number_at(1), minutes, gib ? number_at(2) * 1024 * mebibyte : usual_live};
}

void require_memory(std::uint64_t most_live) {
  const std::uint64_t needed = 2 * most_live;
  if (most_live == usual_live || heaplab::probes::available_memory() >= needed) return;
  char words[80];
  std::snprintf(words, sizeof words, "skipped: %llu GiB of memory must be available",
                static_cast<unsigned long long>(needed / mebibyte / 1024));
  end(skipped, words);
}

}  // namespace

int main(int count, char** arguments) {
  const std::optional<request> wanted = read(count, arguments);
  if (!wanted) {
    std::fputs("usage: aging OPERATIONS | aging MINUTES min | aging OPERATIONS LIVE GiB\n", stderr);
    return wrong_usage;
  }
  require_memory(wanted->most_live);
  const heaplab::probes::process_memory memory;
  const std::uint64_t before = memory.read().anonymous;
  const auto end_time = std::chrono::steady_clock::now() + std::chrono::minutes(wanted->number);
  aging_heap heap(wanted->most_live);
  std::uint64_t peak = 0;
  for (std::uint64_t i = 0; wanted->minutes || i < wanted->number; ++i) {
    heap.step(i);
    if (i % 1000 != 0) continue;
    peak = std::max(peak, memory.read().anonymous - before);
    if (wanted->minutes && std::chrono::steady_clock::now() > end_time) break;
  }
  heap.release_all();
  const double ratio = static_cast<double>(peak) / static_cast<double>(heap.peak_live());
  std::printf(R"({"says":"peak %.2f times what was live at most","figures":{"peak_B":%llu,"live_B":%llu}})"
              "\n",
              ratio, static_cast<unsigned long long>(peak),
              static_cast<unsigned long long>(heap.peak_live()));
  std::fflush(stdout);
  const auto bound = static_cast<std::uint64_t>(peak_factor * static_cast<double>(heap.peak_live()));
  require(peak <= bound + begin_bytes, "the peak of memory is above 4 times what was live");
  return 0;
}
