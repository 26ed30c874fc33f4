// Usage: print_table [WORKLOAD...]
//
// Prints the table of scalloc in docs/scalloc-coherence.md; for each WORKLOAD a table of all variants.
// Example: print_table span-pool. Exit status 0: printed, 2: no such workload.
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

void print_head() {
  std::string names = "| |", rule = "|---|";
  for (const unsigned threads : thread_counts) {
    names += " " + std::to_string(threads) + " |";
    rule += "--:|";
  }
  std::printf("%s atomic |\n%s--:|\n", names.c_str(), rule.c_str());
}

// Transfers an operation for each number of threads, and atomic operations for the most threads.
void print_row(std::string_view name, const workload& work, const variant& heap) {
  std::string row = "| " + std::string(name) + " |";
  double atomic_changes = 0;
  for (const unsigned threads : thread_counts) {
    const counts seen = simulate(work, heap, threads).all;
    row += " " + decimal(seen.per_operation(seen.transfers)) + " |";
    atomic_changes = seen.per_operation(seen.atomic_changes);
  }
  std::printf("%s %s |\n", row.c_str(), decimal(atomic_changes).c_str());
}

void print_variants(const workload& work) {
  std::printf("\n%s: %s\n\n", std::string(work.name).c_str(), work.what);
  print_head();
  for (const variant& tested : variants()) print_row(tested.name, work, tested);
}

void print_scalloc() {
  print_head();
  for (const workload& work : workloads()) print_row(work.name, work, variants().front());
}

void print(const std::vector<std::string>& names) {
  std::vector<const workload*> wanted;
  for (const std::string& name : names) wanted.push_back(&workload_named(name));
  for (const workload* const work : wanted) print_variants(*work);
  if (names.empty()) print_scalloc();
}

}  // namespace
}  // namespace heaplab::coherence

int main(int count, char** arguments) try {
  heaplab::coherence::print({arguments + 1, arguments + count});
  return 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "print_table: %s\n", error.what()), 2;
}
