// Usage: given_back bursts|idle|threads|generations|sizes|large_sizes|steady|aligned|inherited|sleepers
//
// Reports how much memory a library retains of what a program has freed, and fails if that memory grows
// without end:
//
//   bursts    64 MiB in small blocks and 64 MiB in large ones, freed at once, five times
//   idle      one such burst, then two seconds in which the program allocates a little now and then
//   threads   32 threads, one after the other, each of which allocates 8 MiB, frees them and ends
//   generations   many times eight threads at once, which allocate and free blocks of random sizes and end
//   sizes     24 bursts of 16 MiB, each of blocks of another size
//   large_sizes   eight bursts of 128 MiB, each of blocks of another size above 1 MiB
//   steady    100 blocks of one size live, and one after the other is replaced: 1 GiB for each of some sizes
//   aligned   the same with 10 blocks of each function that aligns, some alignments and some sizes
//   inherited   a child of fork frees 96 MiB that it has inherited, and allocates as much again, twice
//   sleepers  50 threads allocate 6 MiB each in blocks of nine sizes and sleep; another frees all, and calls
//             malloc_trim, which fails if it says that it gave memory back, and more than a quarter stays
//
// Each heap of a burst starts and ends empty except for one block in 1000. Exit statuses: see ending.h.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "check/amount.h"
#include "check/children.h"
#include "check/ending.h"
#include "check/run_threads.h"
#include "probes/process_memory.h"

namespace {

using heaplab::check::require;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

const heaplab::probes::process_memory& memory() {
  static const heaplab::probes::process_memory result;
  return result;
}

std::uint64_t anonymous() {
  return memory().read().anonymous;
}

char* written(std::size_t size) {
  auto* const block = static_cast<char*>(std::malloc(size));
  require(block != nullptr, "a block is refused");
  std::memset(block, 1, size);
  return block;
}

// Allocates and writes blocks of one size, then frees all but one in a thousand.
void burst(std::size_t bytes, std::size_t size, std::vector<void*>& kept) {
  std::vector<char*> blocks(bytes / size);
  for (char*& memory : blocks) memory = written(size);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 1000 == 999)
      kept.push_back(blocks[i]);
    else
      std::free(blocks[i]);
  }
}

void tell(std::uint64_t begin, std::uint64_t peak, const char* after) {
  const std::uint64_t now = anonymous();
  const double kept = now > begin ? static_cast<double>(now - begin) : 0;
  std::printf(R"({"says":"%.0f %% of %.0f MiB still held %s","figures":{"peak_B":%.0f,"held_B":%.0f}})"
              "\n",
              100 * kept / static_cast<double>(peak - begin), static_cast<double>(peak - begin) / mebibyte,
              after, static_cast<double>(peak - begin), kept);
  std::fflush(stdout);
}

void mixed_burst(std::vector<void*>& kept) {
  burst(64 * mebibyte, 200, kept);
  burst(64 * mebibyte, 300'000, kept);
}

void bursts() {
  std::vector<void*> kept;
  const std::uint64_t begin = anonymous();
  std::uint64_t first = 0, peak = 0;
  for (unsigned round = 0; round < 5; ++round) {
    mixed_burst(kept);
    if (round == 0) first = anonymous();
    peak = std::max(peak, anonymous());
  }
  tell(begin, begin + 128 * mebibyte, "after five bursts");
  require(peak <= first + 64 * mebibyte, "bursts of equal size add up");
}

void idle() {
  std::vector<void*> kept;
  const std::uint64_t begin = anonymous();
  mixed_burst(kept);
  for (unsigned i = 0; i < 20; ++i) {
    usleep(100'000);
    for (unsigned j = 0; j < 10; ++j) std::free(std::malloc(100));
  }
  tell(begin, begin + 128 * mebibyte, "two seconds after a burst");
}

void threads() {
  const std::uint64_t begin = anonymous();
  std::uint64_t early = 0;
  for (unsigned i = 0; i < 32; ++i) {
    std::thread([] {
      std::vector<void*> kept;
      burst(8 * mebibyte, 500, kept);
      for (void* const memory : kept) std::free(memory);
    }).join();
    if (i == 3) early = anonymous();
  }
  const std::uint64_t late = anonymous();
  tell(begin, begin + 8 * mebibyte, "after 32 threads have ended");
  require(late <= early + 32 * mebibyte, "the memory of ended threads adds up");
}

void live_for_a_while(unsigned seed) {
  std::minstd_rand random(seed + 1);
  void* blocks[2000];
  for (void*& memory : blocks) memory = written(16 + (random() % 40'000 >> random() % 9));
  for (void* const memory : blocks) std::free(memory);
}

void generations() {
  constexpr unsigned at_once = 8;
  const unsigned third = heaplab::check::rounds(1000);
  const std::uint64_t begin = anonymous();
  // What is held varies from one generation to the next: the mean of the last third, and of the one before.
  std::uint64_t early = 0, late = 0;
  for (unsigned generation = 0; generation < 3 * third; ++generation) {
    heaplab::check::run_threads(at_once, [&](unsigned i) { live_for_a_while(generation * at_once + i); });
    if (generation >= third) (generation < 2 * third ? early : late) += anonymous() / third;
  }
  tell(begin, std::max(anonymous(), begin + mebibyte), "after generations of threads");
  require(late <= early + 16 * mebibyte, "each generation of threads adds memory");
}

void shift_sizes(unsigned count, std::size_t bytes, std::size_t size, std::size_t most) {
  std::vector<void*> kept;
  const std::uint64_t begin = anonymous();
  std::uint64_t peak = begin;
  for (unsigned i = 0; i < count; ++i, size += size / 4) {
    burst(bytes, size, kept);
    peak = std::max(peak, anonymous());
  }
  tell(begin, peak, "after sizes that shifted");
  require(peak - begin <= most, "freed blocks of one size do not serve other sizes");
}

void sizes() {
  shift_sizes(24, 16 * mebibyte, 48, 256 * mebibyte);
}

void large_sizes() {
  shift_sizes(8, 128 * mebibyte, mebibyte / 10 * 11, 512 * mebibyte);
}

// Touches each page.
char* touched(void* block, std::size_t size) {
  constexpr std::size_t page = 4096;
  require(block != nullptr, "a block is refused");
  auto* const bytes = static_cast<char*>(block);
  for (std::size_t at = 0; at < size; at += page) bytes[at] = 1;
  bytes[size - 1] = 1;
  return bytes;
}

// Allocates by allocate() and frees `times` blocks, of which `live` are there at a time. Fails if what they
// hold has grown by more than `most`.
template <class Allocate>
void replace_one_by_one(std::size_t live, std::size_t times, std::size_t size, std::size_t most,
                        Allocate allocate) {
  const std::uint64_t begin = anonymous();
  std::vector<char*> blocks(live);
  for (std::size_t i = 0; i < times; ++i) {
    char*& memory = blocks[i * 61 % live];
    std::free(memory);
    memory = touched(allocate(), size);
  }
  for (char* const memory : blocks) std::free(memory);
  require(anonymous() <= begin + most, "blocks that are replaced one by one add up");
}

void steady() {
  constexpr std::size_t live = 100, slack = 32 * mebibyte;
  // An earlier size may have left more than this one needs.
  for (const std::size_t size : {100U, 1'000U, 20'000U, 300'000U})
    replace_one_by_one(live, 1024 * mebibyte / size, size, live * size + slack,
                       [size] { return std::malloc(size); });
  std::puts(R"({"says":"nothing adds up while blocks are replaced one by one"})");
}

using aligning_function = void*(std::size_t alignment, std::size_t size);
constexpr aligning_function* aligning_functions[] = {
    [](std::size_t alignment, std::size_t size) {
      return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    },
    [](std::size_t alignment, std::size_t size) {
      void* result = nullptr;
      return posix_memalign(&result, alignment, size) == 0 ? result : nullptr;
    },
    [](std::size_t alignment, std::size_t size) {
      return ::operator new(size, std::align_val_t{alignment}, std::nothrow);
    },
};

// Blocks that were never given back would hold twice as much as is allowed.
void replace_aligned(aligning_function* function, std::size_t alignment, std::size_t size) {
  constexpr std::size_t live = 10, page = 4096, slack = 24 * mebibyte;
  const auto allocate = [=] { return function(alignment, size); };
  void* const first = allocate();
  std::free(first);
  if (first == nullptr) return;  // That the alignment is refused is another test's matter.
  const std::size_t held = std::max(size, std::min(alignment, page)), most = 2 * live * held + slack;
  replace_one_by_one(live, 2 * most / held, size, most, allocate);
}

void aligned() {
  for (aligning_function* const function : aligning_functions)
    for (const std::size_t alignment : {std::size_t{64}, std::size_t{4096}, mebibyte})
      for (const std::size_t size :
           {std::size_t{200}, std::size_t{5'000}, std::size_t{100'000}, 3 * mebibyte})
        replace_aligned(function, alignment, size);
  std::puts(R"({"says":"nothing adds up while aligned blocks are replaced one by one"})");
}

constexpr std::size_t inherited_sizes[] = {200, 3'000, 300'000}, inherited_bytes = 32 * mebibyte;

std::vector<void*> inherited_blocks() {
  std::vector<void*> result;
  for (const std::size_t size : inherited_sizes)
    for (std::size_t i = 0; i < inherited_bytes / size; ++i) result.push_back(written(size));
  return result;
}

[[noreturn]] void replace_inherited(std::vector<void*> blocks) {
  constexpr std::size_t whole = std::size(inherited_sizes) * inherited_bytes;
  const std::uint64_t begin = anonymous();
  for (unsigned round = 0; round < 2; ++round) {
    for (void* const memory : blocks) std::free(memory);
    blocks = inherited_blocks();
  }
  tell(begin, begin + whole, "beside as much, which a child of fork has replaced");
  require(anonymous() <= begin + whole / 2, "what a child of fork frees does not serve it again");
  _exit(0);
}

void inherited() {
  std::vector<void*> blocks = inherited_blocks();
  const pid_t child = fork();
  if (child == 0) replace_inherited(std::move(blocks));
  if (const int status = heaplab::check::status_of(child); status != 0) std::_Exit(heaplab::check::failed);
}

void sleepers() {
  constexpr std::size_t block_sizes[] = {64, 200, 1'000, 3'000, 6'000, 20'000, 50'000, 100'000, 200'000};
  constexpr unsigned count = 50, of_each = 16;
  static void* blocks[count][std::size(block_sizes)][of_each];
  const std::uint64_t begin = anonymous();
  std::barrier all_are_there(count + 1), may_end(count + 1);
  std::vector<std::thread> all;
  for (unsigned thread = 0; thread < count; ++thread)
    all.emplace_back([&, thread] {
      for (std::size_t size = 0; size < std::size(block_sizes); ++size)
        for (void*& memory : blocks[thread][size]) memory = written(block_sizes[size]);
      all_are_there.arrive_and_wait();
      may_end.arrive_and_wait();
    });
  all_are_there.arrive_and_wait();
  const std::uint64_t peak = anonymous();
  for (auto& of_thread : blocks)
    for (auto& of_size : of_thread)
      for (void* const memory : of_size) std::free(memory);
  const bool gives_back = malloc_trim(0) != 0;
  const std::uint64_t left = anonymous();
  tell(begin, peak, "after malloc_trim, by threads that sleep");
  may_end.arrive_and_wait();
  for (std::thread& thread : all) thread.join();
  require(!gives_back || left < begin + (peak - begin) / 4, "malloc_trim leaves what threads that sleep had");
}

struct task {
  std::string_view name;
  void (*perform)();
};
constexpr task tasks[] = {{"bursts", bursts},           {"idle", idle},       {"threads", threads},
                          {"generations", generations}, {"sizes", sizes},     {"large_sizes", large_sizes},
                          {"steady", steady},           {"aligned", aligned}, {"inherited", inherited},
                          {"sleepers", sleepers}};

}  // namespace

int main(int count, char** arguments) {
  for (const task& job : tasks)
    if (count == 2 && job.name == arguments[1]) return job.perform(), 0;
  std::fputs("usage: given_back", stderr);
  for (const task& job : tasks) std::fprintf(stderr, " %s", job.name.data());
  std::fputs("\n", stderr);
  return heaplab::check::wrong_usage;
}
