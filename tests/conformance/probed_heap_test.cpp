// A heap with probes, as a tracer sees it: the notes of this program tell where the probes are, breakpoints
// are written over them, and what is in the registers that the notes name is what the tracer hears.
#define HEAPLAB_USDT 1
#include "shim/probed_heap.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace heaplab::shim {
namespace {

struct plain_heap {
  static void* allocate(std::size_t size) noexcept { return std::malloc(size); }
  static void* allocate_zeroed(std::size_t size) noexcept { return std::calloc(1, size); }
  static void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
    return std::aligned_alloc(alignment, size);
  }
  static void deallocate(void* block) noexcept { std::free(block); }
  static std::size_t usable_size(void*) noexcept { return 16; }
  static void* reallocate(void* block, std::size_t size) noexcept { return std::realloc(block, size); }
};
using probed = probed_heap<plain_heap>;

TEST(probed_heap, byte_sampler_weighs_as_many_bytes_as_there_are) {
  for (const std::size_t size : {64, 5000, 3'000'000}) {
    byte_sampler sampler;
    double told = 0;
    double bytes = 0;
    for (; bytes < 1024. * byte_sampler::interval; bytes += static_cast<double>(size))
      told += static_cast<double>(sampler.weight_of(size));
    EXPECT_NEAR(told / bytes, 1, 0.2) << size;  // six standard deviations
  }
}

TEST(probed_heap, sampled_blocks_know_what_was_added_once) {
  static sampled_blocks known;
  char blocks[2] = {};
  EXPECT_FALSE(known.remove(blocks));
  EXPECT_TRUE(known.add(blocks));
  EXPECT_TRUE(known.add(blocks + 1));
  EXPECT_TRUE(known.remove(blocks));
  EXPECT_FALSE(known.remove(blocks));
  EXPECT_TRUE(known.remove(blocks + 1));
}

#if defined(__x86_64__)

struct probe {
  std::uint64_t at;
  std::string name;
  std::vector<std::string> arguments;
};

std::vector<probe> probes_of_this_program() {
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(stream), {});
  const auto at = [&]<class T>(std::uint64_t offset, T into) {
    std::memcpy(&into, file.data() + offset, sizeof into);
    return into;
  };
  const auto head = at(0, Elf64_Ehdr{});
  const auto section = [&](unsigned number) {
    return at(head.e_shoff + number * sizeof(Elf64_Shdr), Elf64_Shdr{});
  };
  const std::uint64_t names = section(head.e_shstrndx).sh_offset;
  std::vector<probe> found;
  for (unsigned number = 0; number < head.e_shnum; ++number) {
    const Elf64_Shdr notes = section(number);
    if (std::strcmp(file.data() + names + notes.sh_name, ".note.stapsdt") != 0) continue;
    for (std::uint64_t place = notes.sh_offset; place < notes.sh_offset + notes.sh_size;) {
      const auto note = at(place, Elf64_Nhdr{});
      const std::uint64_t content = place + sizeof note + (note.n_namesz + 3) / 4 * 4;
      const char* const provider = file.data() + content + 24;
      const char* const name = provider + std::strlen(provider) + 1;
      probe point{_r_debug.r_map->l_addr + at(content, std::uint64_t{}), name, {}};
      std::string words = name + point.name.size() + 1;
      for (std::size_t begin = 0; (begin = words.find('%', begin)) != std::string::npos; ++begin)
        point.arguments.push_back(words.substr(begin + 1, words.find(' ', begin) - begin - 1));
      if (std::strcmp(provider, "otel_memory") == 0) found.push_back(point);
      place = content + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return found;
}

const std::map<std::string, int> registers = {
    {"rax", REG_RAX}, {"rbx", REG_RBX}, {"rcx", REG_RCX}, {"rdx", REG_RDX}, {"rsi", REG_RSI},
    {"rdi", REG_RDI}, {"rbp", REG_RBP}, {"r8", REG_R8},   {"r9", REG_R9},   {"r10", REG_R10},
    {"r11", REG_R11}, {"r12", REG_R12}, {"r13", REG_R13}, {"r14", REG_R14}, {"r15", REG_R15}};

struct heard {
  std::string name;
  std::uint64_t arguments[3];
};

// Attached to the probes of this program while it lives. Its handler allocates: the heap's functions are not
// interrupted inside malloc.
class tracer {
public:
  tracer() {
    probes = probes_of_this_program();
    struct sigaction action{};
    action.sa_sigaction = [](int, siginfo_t*, void* context) { hear(static_cast<ucontext_t*>(context)); };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    for (const probe& point : probes) write(point, 0xCC);
    otel_memory_alloc_semaphore = 1;
    otel_memory_free_semaphore = 1;
  }
  ~tracer() {
    otel_memory_alloc_semaphore = 0;
    otel_memory_free_semaphore = 0;
    for (const probe& point : probes) write(point, 0x90);
    signal(SIGTRAP, SIG_DFL);
    events.clear();
  }

  static inline std::vector<probe> probes;
  static inline std::vector<heard> events;

private:
  static void write(const probe& point, unsigned char instruction) {
    auto* const at = reinterpret_cast<unsigned char*>(point.at);
    const std::uint64_t page = point.at & ~std::uint64_t{4095};
    mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    EXPECT_EQ(*at, instruction == 0xCC ? 0x90 : 0xCC);
    *at = instruction;
  }

  static void hear(const ucontext_t* context) {
    const auto& values = context->uc_mcontext.gregs;
    for (const probe& point : probes) {
      if (point.at + 1 != static_cast<std::uint64_t>(values[REG_RIP])) continue;
      heard event{point.name, {}};
      for (std::size_t number = 0; number < point.arguments.size(); ++number)
        event.arguments[number] = static_cast<std::uint64_t>(values[registers.at(point.arguments[number])]);
      events.push_back(event);
    }
  }
};

std::uint64_t number(const void* block) {
  return reinterpret_cast<std::uint64_t>(block);
}

constexpr std::size_t large = 64 * byte_sampler::interval;  // is sampled, but once in e^64 times

TEST(probed_heap, tells_a_sampled_block_from_its_allocation_to_its_end) {
  const tracer attached;
  ASSERT_GE(tracer::probes.size(), 2U);
  void* const block = probed::allocate(large);
  ASSERT_EQ(tracer::events.size(), 1U);
  EXPECT_EQ(tracer::events[0].name, "alloc");
  EXPECT_EQ(tracer::events[0].arguments[0], number(block));
  EXPECT_EQ(tracer::events[0].arguments[1], large);
  EXPECT_EQ(tracer::events[0].arguments[2] % byte_sampler::interval, 0U);
  EXPECT_NEAR(static_cast<double>(tracer::events[0].arguments[2]), large, large * 0.75);
  void* const moved = probed::reallocate(block, 2 * large);
  ASSERT_EQ(tracer::events.size(), 3U);
  EXPECT_EQ(tracer::events[1].name, "free");
  EXPECT_EQ(tracer::events[1].arguments[0], number(block));
  EXPECT_EQ(tracer::events[2].arguments[0], number(moved));
  probed::deallocate(moved);
  ASSERT_EQ(tracer::events.size(), 4U);
  EXPECT_EQ(tracer::events[3].name, "free");
  EXPECT_EQ(tracer::events[3].arguments[0], number(moved));
}

TEST(probed_heap, tells_few_small_blocks) {
  const tracer attached;
  for (int time = 0; time < 100'000; ++time) probed::deallocate(probed::allocate(64));
  std::size_t allocations = 0;
  for (const heard& event : tracer::events) allocations += event.name == "alloc";
  EXPECT_LT(allocations, 60U);  // 12 are expected
  EXPECT_GT(allocations, 0U);
  EXPECT_EQ(tracer::events.size(), 2 * allocations);
}

TEST(probed_heap, tells_nothing_while_no_tracer_is_attached) {
  const tracer attached;
  otel_memory_alloc_semaphore = 0;
  otel_memory_free_semaphore = 0;
  probed::deallocate(probed::allocate(large));
  EXPECT_TRUE(tracer::events.empty());
}

#endif

}  // namespace
}  // namespace heaplab::shim
