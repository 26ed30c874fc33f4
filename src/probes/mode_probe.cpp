// Prints how long the work of mode_work.h takes now, in nanoseconds. heaplab runs this program before and
// after each run, and records both times beside the run.

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "probes/mode_work.h"
#include "probes/tick_clock.h"

namespace {

constexpr std::size_t warm_rounds = 10'000;  // touch the whole table and wake the core up
constexpr std::size_t rounds = 120'000;      // between 1 and 2 ms

heaplab::probes::mode_table table;

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "--help") == 0) {
    std::puts(
        "mode_probe: prints nanoseconds of a fixed amount of work, which tell how fast the core is now.");
    std::puts("Example: mode_probe");
    return 0;
  }
  if (count > 1) {
    std::fprintf(stderr, "mode_probe: takes no arguments but --help, not '%s'\n", words[1]);
    return 2;
  }
  std::uint64_t work = heaplab::probes::mode_work(table, warm_rounds);
  const std::uint64_t begin = heaplab::probes::monotonic_nanoseconds();
  work += heaplab::probes::mode_work(table, rounds);
  const std::uint64_t end = heaplab::probes::monotonic_nanoseconds();
  // The work is printed too, so that the compiler cannot leave it out.
  std::printf("%" PRIu64 " %" PRIu64 "\n", end - begin, work);
  return 0;
}
