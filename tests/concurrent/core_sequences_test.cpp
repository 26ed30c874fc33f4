// The sequences of core_stacks.h: what they do, and that a signal at any of their instructions leaves the
// stack as if the sequence had not begun, or had ended before.
#include "concurrent/core_sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/rseq_area.h"
#if defined(__x86_64__)
#include "interrupted_once.h"
#endif

namespace heaplab::concurrent {
namespace {

// An area of which the kernel knows nothing: no sequence is ever aborted.
struct alignas(32) unknown_area {
  std::uint32_t cpu_id_start = 0, cpu_id = 0;
  std::uint64_t sequence = 0;
};
thread_local unknown_area of_thread;

std::ptrdiff_t distance_to(const unknown_area& area) {
  return reinterpret_cast<const char*>(&area) - static_cast<const char*>(__builtin_thread_pointer());
}

constexpr unsigned capacity = 6, kind = 1;

constexpr unsigned bottom = sizeof(stacks_head) / sizeof(void*);

// Every CPU has the same stacks, of one kind, which has the number 1; requests of so many steps lead there.
struct shared_stacks {
  stacks_head head = {};
  void* none = nullptr;
  void* blocks[capacity] = {};
  plain_sequence_table table;
  stack_bounds& bounds = head.bounds[kind];

  shared_stacks() {
    bounds = {bottom, bottom, bottom + capacity, bottom + capacity};
    head.kind_of_step[kind] = kind;
    std::fill(std::begin(table.of_cpu), std::end(table.of_cpu), entry());
  }
  shared_stacks(const shared_stacks&) = delete;
  shared_stacks& operator=(const shared_stacks&) = delete;
  std::ptrdiff_t entry() const {
    return reinterpret_cast<const char*>(this) - reinterpret_cast<const char*>(&table);
  }
  sequence_place in(std::ptrdiff_t area) const { return {area, &table, kind}; }

  std::vector<void*> waiting() const { return {blocks, blocks + (bounds.top - bounds.bottom)}; }
};

class core_sequences : public testing::Test {
protected:
  void SetUp() override {
    if (!has_sequences) GTEST_SKIP() << "no sequences for this processor or under this sanitizer";
  }

  shared_stacks stacks_;
  char blocks_[16] = {};
};

TEST_F(core_sequences, pop_the_newest_first) {
  const sequence_place in = stacks_.in(distance_to(of_thread));
  for (unsigned i = 0; i < capacity; ++i) EXPECT_EQ(push_sequence(in, &blocks_[i]), sequence_end::committed);
  EXPECT_EQ(push_sequence(in, &blocks_[9]), sequence_end::refused);
  for (unsigned i = capacity; i-- > 0;) {
    void* block = nullptr;
    EXPECT_EQ(pop_sequence(in, block), sequence_end::committed);
    EXPECT_EQ(block, &blocks_[i]);
  }
  void* block = nullptr;
  EXPECT_EQ(pop_sequence(in, block), sequence_end::refused);
}

TEST_F(core_sequences, move_several_blocks_or_none) {
  const sequence_place in = stacks_.in(distance_to(of_thread));
  void* const given[] = {&blocks_[0], &blocks_[1], &blocks_[2], &blocks_[3]};
  void* got[4] = {};
  EXPECT_EQ(pop_many_sequence(in, got, 1), sequence_end::refused);
  EXPECT_EQ(push_many_sequence(in, given, 4), sequence_end::committed);
  EXPECT_EQ(push_many_sequence(in, given, 3), sequence_end::refused);
  EXPECT_EQ(stacks_.waiting(), (std::vector<void*>(given, given + 4)));
  EXPECT_EQ(pop_many_sequence(in, got, 3), sequence_end::committed);
  EXPECT_EQ(got[0], &blocks_[3]);
  EXPECT_EQ(got[2], &blocks_[1]);
  EXPECT_EQ(got[3], nullptr);
  EXPECT_EQ(pop_many_sequence(in, got, 2), sequence_end::refused);
  EXPECT_EQ(pop_many_sequence(in, got, 1), sequence_end::committed);
  EXPECT_EQ(push_many_sequence(in, given, 4), sequence_end::committed);
  EXPECT_EQ(push_many_sequence(in, given, 2), sequence_end::committed);
  EXPECT_EQ(push_many_sequence(in, given, 1), sequence_end::refused);
}

TEST_F(core_sequences, push_up_to_the_limit) {
  stacks_.bounds.limit = bottom + 1;
  const sequence_place in = stacks_.in(distance_to(of_thread));
  EXPECT_EQ(push_sequence(in, &blocks_[0]), sequence_end::committed);
  EXPECT_EQ(push_sequence(in, &blocks_[1]), sequence_end::refused);
}

TEST_F(core_sequences, are_refused_where_the_cpu_is_unknown_or_has_no_stacks) {
  const sequence_place in = stacks_.in(distance_to(of_thread));
  ASSERT_EQ(push_sequence(in, &blocks_[0]), sequence_end::committed);
  const auto expect_refused = [&] {
    void* block = nullptr;
    EXPECT_EQ(pop_sequence(in, block), sequence_end::refused);
    EXPECT_EQ(push_sequence(in, &blocks_[1]), sequence_end::refused);
  };
  // Registration failed (-2), not registered (-1).
  for (const std::uint32_t cpu : {UINT32_MAX - 1, UINT32_MAX}) {
    of_thread.cpu_id = cpu;
    expect_refused();
  }
  of_thread.cpu_id = 5;
  for (const std::ptrdiff_t entry : {std::ptrdiff_t{0}, plain_sequence_table::stopped}) {
    stacks_.table.of_cpu[5] = entry;
    expect_refused();
  }
  of_thread.cpu_id = 0;
  EXPECT_EQ(stacks_.waiting(), std::vector<void*>{&blocks_[0]});
}

#if defined(__x86_64__)

enum class operation { pop, push, pop_two, push_two };
constexpr operation all_operations[] = {operation::pop, operation::push, operation::pop_two,
                                        operation::push_two};

struct real_sequences {
  static std::ptrdiff_t area() { return rseq_area::distance(); }

  // One function for each operation, with one sequence.
  template <operation Op>
  [[gnu::noipa]] static sequence_end run(const sequence_place& in, void** blocks) {
    if constexpr (Op == operation::pop) return pop_sequence(in, blocks[0]);
    if constexpr (Op == operation::push) return push_sequence(in, blocks[0]);
    if constexpr (Op == operation::pop_two) return pop_many_sequence(in, blocks, 2);
    if constexpr (Op == operation::push_two) return push_many_sequence(in, blocks, 2);
  }
};

// Planted: the kernel does not learn of the sequence.
struct unarmed_sequences : real_sequences {
  static std::ptrdiff_t area() { return distance_to(of_thread); }
};

// Planted: the new top is stored before the block is read or written, and the sequence goes on.
struct hasty_sequences : real_sequences {
#define HEAPLAB_HASTY(MOVE)                                                                              \
  asm volatile goto(                                                                                     \
      ".pushsection .data.rel.ro.rseq_cs, \"aw?\", @progbits\n.balign 32\n3: .long 0, 0\n"               \
      ".quad 1f, 2f - 1f, 4f\n.popsection\n"                                                             \
      "leaq 3b(%%rip), %%rax\n\tmovq %%rax, %%fs:8(%[area])\n"                                           \
      "1: movslq %%fs:4(%[area]), %%rax\n\tmovq %c[of_cpu](%[table], %%rax, 8), %%rax\n\t"               \
      "addq %[table], %%rax\n\tmovzwl (%%rax, %[kind], 8), %%edx\n\t" MOVE                               \
      "nop\n2:\n.pushsection .text.unlikely.rseq_aborts, \"ax?\", @progbits\n"                           \
      ".byte 0x0f, 0xb9, 0x3d\n.long 0x53053053\n4: jmp %l[aborted]\n.popsection\n"                      \
      :                                                                                                  \
      : [area] "r"(in.area), [table] "r"(in.table), [kind] "r"(in.kind), [of_cpu] "i"(sequence_cpus_at), \
        [blocks] "r"(blocks)                                                                             \
      : "memory", "cc", "rax", "rdx", "rcx"                                                              \
      : aborted)

  template <operation Op>
    requires(Op == operation::pop)
  [[gnu::noipa]] static sequence_end run(const sequence_place& in, void** blocks) {
    HEAPLAB_HASTY(
        "decw (%%rax, %[kind], 8)\n\t"
        "movq (%%rax, %%rdx, 8), %%rcx\n\tmovq %%rcx, (%[blocks])\n\t");
    return sequence_end::committed;
  aborted:
    return sequence_end::aborted;
  }

  template <operation Op>
    requires(Op != operation::pop)
  [[gnu::noipa]] static sequence_end run(const sequence_place& in, void** blocks) {
    HEAPLAB_HASTY(
        "incw (%%rax, %[kind], 8)\n\t"
        "movq (%[blocks]), %%rcx\n\tmovq %%rcx, 8(%%rax, %%rdx, 8)\n\t");
    return sequence_end::committed;
  aborted:
    return sequence_end::aborted;
  }
#undef HEAPLAB_HASTY
};

// The function of each operation.
template <class Sequences>
auto function_of(operation op) {
  using function = sequence_end(const sequence_place&, void**);
  static constexpr function* functions[] = {
      Sequences::template run<operation::pop>, Sequences::template run<operation::push>,
      Sequences::template run<operation::pop_two>, Sequences::template run<operation::push_two>};
  return functions[static_cast<unsigned>(op)];
}

bool is_pop(operation op) {
  return op == operation::pop || op == operation::pop_two;
}

// Another program may take the processor at any time, and abort a sequence that the test does not interrupt.
template <class Sequences>
sequence_end run_until_not_aborted(operation op, const sequence_place& in, void** blocks) {
  for (;;)
    if (const sequence_end end = function_of<Sequences>(op)(in, blocks); end != sequence_end::aborted)
      return end;
}

struct outcome_at {
  bool came, aborted, whole;
};

// A stack of three blocks. At one instruction of an operation a signal handler pops one block and pushes two
// others. Each block must then be in one place: popped by one of both, or still there.
template <class Sequences>
outcome_at interrupt(std::uintptr_t instruction, operation op) {
  static char blocks[7];
  shared_stacks stacks;
  const sequence_place in = stacks.in(Sequences::area());
  const auto push = [&](void* block) { run_until_not_aborted<Sequences>(operation::push, in, &block); };
  for (unsigned i = 0; i < 3; ++i) push(&blocks[i]);
  std::vector<void*> expected = {&blocks[0], &blocks[1], &blocks[2], &blocks[3], &blocks[4]};
  std::vector<void*> found;
  found.reserve(16);
  const auto others = [&] {
    void* block = nullptr;
    if (run_until_not_aborted<Sequences>(operation::pop, in, &block) == sequence_end::committed)
      found.push_back(block);
    for (unsigned i = 3; i < 5; ++i) push(&blocks[i]);
  };
  sequence_end end = sequence_end::refused;
  void* moved[2] = {&blocks[5], &blocks[6]};
  const bool came =
      interrupted_once::at(instruction, others, [&] { end = function_of<Sequences>(op)(in, moved); });
  const bool is_of_two = op == operation::pop_two || op == operation::push_two;
  if (end == sequence_end::committed) {
    std::vector<void*>& to = is_pop(op) ? found : expected;
    to.insert(to.end(), moved, moved + (is_of_two ? 2 : 1));
  }
  for (void* const block : stacks.waiting()) found.push_back(block);
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  return {came, end == sequence_end::aborted, came && found == expected};
}

// Where a function has its sequence: from the instruction that names it in the thread's area to the one
// behind its commit.
struct sequence_code {
  std::uintptr_t first, commit_end;
  std::vector<std::uintptr_t> instructions;
};

template <class Sequences>
sequence_code code_of(operation op) {
  static char block;
  shared_stacks stacks;
  const sequence_place in = stacks.in(distance_to(of_thread));
  void* moved[2] = {&block, &block};
  const auto work = [&] {
    if (is_pop(op)) function_of<Sequences>(operation::push_two)(in, moved);
    function_of<Sequences>(op)(in, moved);
  };
  work();
  const auto* const words = reinterpret_cast<const std::uint64_t*>(of_thread.sequence);
  const std::uintptr_t first = words[1], commit_end = words[1] + words[2];
  return {first, commit_end,
          interrupted_once::instructions_of(reinterpret_cast<std::uintptr_t>(function_of<Sequences>(op)),
                                            commit_end + 1, work)};
}

TEST_F(core_sequences, interrupted_at_any_instruction_have_happened_or_not) {
  if (rseq_area::distance() == 0) GTEST_SKIP() << "no restartable sequences here";
  for (const operation op : all_operations) {
    const sequence_code code = code_of<real_sequences>(op);
    unsigned inside = 0;
    for (const std::uintptr_t instruction : code.instructions) {
      const bool is_inside = code.first <= instruction && instruction < code.commit_end;
      outcome_at outcome = interrupt<real_sequences>(instruction, op);
      for (unsigned attempt = 0; attempt < 9 && outcome.aborted && !is_inside; ++attempt)
        outcome = interrupt<real_sequences>(instruction, op);
      inside += is_inside;
      EXPECT_TRUE(outcome.came);
      EXPECT_TRUE(outcome.whole) << "operation " << static_cast<int>(op) << " at "
                                 << instruction - code.first;
      EXPECT_EQ(outcome.aborted, is_inside)
          << "operation " << static_cast<int>(op) << " at " << instruction - code.first;
    }
    EXPECT_GE(inside, 8U);
    EXPECT_GE(code.instructions.size(), inside + 3);
  }
}

template <class Sequences>
unsigned faults_of(operation op) {
  unsigned faults = 0;
  for (const std::uintptr_t instruction : code_of<Sequences>(op).instructions)
    faults += !interrupt<Sequences>(instruction, op).whole;
  return faults;
}

TEST_F(core_sequences, planted_faults_are_found) {
  if (rseq_area::distance() == 0) GTEST_SKIP() << "no restartable sequences here";
  for (const operation op : all_operations) {
    EXPECT_EQ(faults_of<real_sequences>(op), 0U);
    EXPECT_GT(faults_of<unarmed_sequences>(op), 0U);
  }
  for (const operation op : {operation::pop, operation::push}) EXPECT_GT(faults_of<hasty_sequences>(op), 0U);
}

#endif

}  // namespace
}  // namespace heaplab::concurrent
