// Usage: print_table [WORKLOAD...]
//
// Prints the tables of docs/scalloc-coherence.md for some workloads, or for all. Example: print_table
// span-pool Exit status 0: printed, 2: no such workload.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "coherence/workloads.h"

namespace heaplab::coherence {
namespace {

constexpr unsigned thread_counts[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

std::string decimal(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", number);
  return text;
}

// One row: transfers an operation for each number of threads, and atomic operations for the most threads.
void print_row(const workload& work, const variant& heap) {
  std::string row = "| " + std::string(heap.name) + " |";
  double atomic_changes = 0;
  for (const unsigned threads : thread_counts) {
    const counts seen = simulate(work, heap, threads).all;
    row += " " + decimal(seen.per_operation(seen.transfers)) + " |";
    atomic_changes = seen.per_operation(seen.atomic_changes);
  }
  std::printf("%s %s |\n", row.c_str(), decimal(atomic_changes).c_str());
}

void print_table(const workload& work) {
  std::printf("\n### %.*s: %s\n\n|", static_cast<int>(work.name.size()), work.name.data(), work.what);
  for (const unsigned threads : thread_counts) std::printf(" | %u", threads);
  std::printf(" | atomic |\n|---|");
  for (std::size_t column = 0; column <= std::size(thread_counts); ++column) std::printf("--:|");
  std::printf("\n");
  for (const variant& it : variants()) print_row(work, it);
}

int print_tables(const std::vector<std::string>& names) {
  std::vector<const workload*> wanted;
  for (const std::string& name : names) wanted.push_back(&workload_named(name));
  if (names.empty())
    for (const workload& it : workloads()) wanted.push_back(&it);
  for (const workload* const it : wanted) print_table(*it);
  return 0;
}

}  // namespace
}  // namespace heaplab::coherence

int main(int count, char** arguments) try {
  return heaplab::coherence::print_tables({arguments + 1, arguments + count});
} catch (const std::exception& error) {
  return std::fprintf(stderr, "print_table: %s\n", error.what()), 2;
}
