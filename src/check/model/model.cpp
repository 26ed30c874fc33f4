// Random sequences of allocation calls, checked against a shadow heap. After every sequence: blocks do not
// overlap up to their usable size, are aligned, keep their contents also in realloc, and are zero from
// calloc.
//
// Usage: model [SEQUENCES [SEED]]
//
// Half of the sequences run in one thread; in the others, blocks are freed and moved by other threads, and
// threads end. A sequence that finds a fault is shortened and printed. Exit status 0: no fault, 1: a fault,
// 2: wrong usage.
#include <cstdio>
#include <cstdlib>

#include "check/model/operation.h"
#include "check/model/replay.h"
#include "check/model/shrink.h"

namespace heaplab::check {
namespace {

sequence random_sequence(std::uint64_t seed) {
  random_numbers random(seed);
  sequence result;
  result.length = 100 + random.below(longest_sequence - 100);
  const unsigned threads = seed % 2 == 0 ? 1 : thread_count;
  for (unsigned i = 0; i < result.length; ++i) result.operations[i] = random_operation(random, threads);
  return result;
}

int run(unsigned long sequences, unsigned long first_seed) {
  fault_text text;
  for (std::uint64_t seed = first_seed; seed < first_seed + sequences; ++seed) {
    // Static, not in a container: this program must not change the heap under test.
    static sequence current;
    current = random_sequence(seed);
    if (holds(current.all(), text)) continue;
    std::fprintf(stderr, "seed %lu: %s\n", static_cast<unsigned long>(seed), text.get());
    shrink(current, text);
    std::fprintf(stderr, "shortened to %u operations: %s\n", current.length, text.get());
    for (const operation& step : current.all()) print(step);
    return 1;
  }
  return 0;
}

bool read(const char* text, unsigned long& number) {
  char* end = nullptr;
  number = std::strtoul(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0';
}

}  // namespace
}  // namespace heaplab::check

int main(int count, char** arguments) {
  unsigned long sequences = 200;
  unsigned long seed = 1;
  if (count > 3 || (count > 1 && !heaplab::check::read(arguments[1], sequences)) ||
      (count > 2 && !heaplab::check::read(arguments[2], seed))) {
    std::fputs("usage: model [SEQUENCES [SEED]]: whole numbers\n", stderr);
    return 2;
  }
  return heaplab::check::run(sequences, seed);
}
