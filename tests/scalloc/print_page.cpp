// Usage: print_page size-classes|span-life
//
// Prints a page of docs/ from the tables that the allocator is compiled with.
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "allocators/scalloc/policy/variants.h"
#include "allocators/scalloc/spans/span_state.h"

namespace heaplab::scalloc {
namespace {

constexpr config standard_config = standard();
constexpr config paper_config = paper();

// Of `whole`, in percent.
double percent(std::size_t part, std::size_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

template <const config& Config>
void print_classes() {
  using classes = size_classes<Config>;
  std::printf("\n## %s: %u classes, %u sizes of real spans\n\n", Config.name, classes::count,
              classes::slot_count());
  std::printf("| block, B | blocks | real span, KiB | unused in a block, %% | in a span, %% | colors |\n");
  std::printf("|--:|--:|--:|--:|--:|--:|\n");
  std::size_t smallest = 0;
  for (const size_class& kind : classes::table) {
    const std::size_t used = std::size_t{kind.blocks} * kind.block_bytes;
    std::printf("| %u | %u | %u | %.1f | %.1f | %u |\n", kind.block_bytes, kind.blocks,
                kind.real_span_bytes / 1024, percent(kind.block_bytes - smallest, kind.block_bytes),
                percent(kind.real_span_bytes - used, kind.real_span_bytes), kind.colors);
    smallest = kind.block_bytes + 1;
  }
}

template <const config& Config>
std::uint32_t largest_fine_block() {
  std::uint32_t largest = 0;
  for (const size_class& kind : size_classes<Config>::table)
    if (kind.fine) largest = kind.block_bytes;
  return largest;
}

void print_size_classes() {
  std::printf(
      "# scalloc: size classes and their waste\n\n"
      "What is compiled into the libraries (`src/allocators/scalloc/policy/size_classes.h`), printed; a test "
      "compares.\n"
      "A request gets the smallest block that holds it; a larger one has a mapping of its own, in whole "
      "pages.\n\n"
      "- **in a block**: what the smallest request of the class leaves unused, the worst case.\n"
      "- **in a span**: the part of a real span that is no block's.\n"
      "- **colors**: places, %zu bytes apart, where the first block of a span may begin.\n\n"
      "Blocks up to %u B of `%s` lie in the fine zone, in spans of %zu KiB of address space, all others in "
      "spans\nof %zu KiB. `%s` has one zone, of spans of %zu KiB.\n",
      color_step, largest_fine_block<standard_config>(), standard_config.name,
      standard_config.fine_span_bytes / 1024, standard_config.coarse_span_bytes / 1024, paper_config.name,
      paper_config.fine_span_bytes / 1024);
  print_classes<standard_config>();
  print_classes<paper_config>();
}

constexpr const char* state_names[] = {"expected", "free", "hot", "floating", "reusable"};
constexpr const char* event_names[] = {"take",        "push",     "refill", "retire",
                                       "mostly_free", "all_free", "reuse"};
static_assert(std::size(state_names) == span_state_count && std::size(event_names) == span_event_count);

void print_span_life() {
  std::printf(
      "# scalloc: the life of a span\n\n"
      "The table `span_transitions` of `src/allocators/scalloc/spans/span_state.h`, printed; a test "
      "compares. A "
      "state\n"
      "and an event that have no row cannot meet. `tests/scalloc/span_state_test.cpp` tries every state with "
      "every\nevent, `frontend_test.cpp` goes every way with one thread, `interleavings_test.cpp` goes the "
      "dangerous ones\nwith several, in every interleaving.\n\n"
      "| state | event | next | who may do it | memory order |\n|---|---|---|---|---|\n");
  for (const span_transition& row : span_transitions)
    std::printf("| %s | %s | %s | %s | %s |\n", state_names[static_cast<unsigned>(row.from)],
                event_names[static_cast<unsigned>(row.event)], state_names[static_cast<unsigned>(row.to)],
                row.who, row.order);
}

}  // namespace
}  // namespace heaplab::scalloc

int main(int count, char** arguments) {
  const std::string_view page = count == 2 ? arguments[1] : "";
  if (page == "size-classes") return heaplab::scalloc::print_size_classes(), 0;
  if (page == "span-life") return heaplab::scalloc::print_span_life(), 0;
  return std::fputs("usage: print_page size-classes|span-life\n", stderr), 2;
}
