// Usage: print_table [--csv | --nodes] [WORKLOAD...]
//        print_table --stacks
//
// Prints the table of scalloc in docs/scalloc-coherence.md; for each WORKLOAD a table of all variants. With
// --csv the rows of research/coherence.csv.xz: all variants, and without a WORKLOAD those of all workloads.
// With --nodes, for each WORKLOAD, how many lines move between 2 and 4 nodes. With --stacks, a stack of free
// spans with tags beside hazard pointers.
// Example: print_table span-pool. Exit status 0: printed, 2: no such workload.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "coherence/stacks.h"
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

// Two rows for each variant: transfers and atomic operations an operation, for each number of threads.
void print_csv(const workload& work) {
  for (const variant& tested : variants()) {
    const std::string begin = std::string(work.name) + "," + std::string(tested.name);
    std::string transfers = begin + ",transfers", atomic_changes = begin + ",atomic";
    for (const unsigned threads : thread_counts) {
      const counts seen = simulate(work, tested, threads).all;
      transfers += "," + decimal(seen.per_operation(seen.transfers));
      atomic_changes += "," + decimal(seen.per_operation(seen.atomic_changes));
    }
    std::printf("%s\n%s\n", transfers.c_str(), atomic_changes.c_str());
  }
}

void print_csv_head() {
  std::string head = "workload,variant,counted";
  for (const unsigned threads : thread_counts) head += "," + std::to_string(threads);
  std::printf("%s\n", head.c_str());
}

void print_all_csv() {
  print_csv_head();
  for (const workload& work : workloads()) print_csv(work);
}

constexpr nodes divisions[] = {{2, false}, {2, true}, {4, false}, {4, true}};

void print_nodes_head() {
  std::string names = "| | | transfers |", rule = "|---|---|--:|";
  for (const nodes among : divisions) {
    names += " " + std::to_string(among.count) + (among.in_turn ? " in turn |" : " in blocks |");
    rule += "--:|";
  }
  std::printf("%s\n%s\n", names.c_str(), rule.c_str());
}

// Transfers an operation of 64 threads, and of these those between nodes.
void print_nodes(const workload& work) {
  for (const std::string_view name : {"scalloc", "scalloc-paper", "scalloc-single-stack"}) {
    std::string row = "| " + std::string(work.name) + " | " + std::string(name) + " |";
    for (const nodes& among : divisions) {
      const counts seen = simulate(work, variant_named(name), 64, among).all;
      if (&among == divisions) row += " " + decimal(seen.per_operation(seen.transfers)) + " |";
      row += " " + decimal(seen.per_operation(seen.far_transfers)) + " |";
    }
    std::printf("%s\n", row.c_str());
  }
}

// For a pop and a push of each number of threads: transfers, and atomic operations in parentheses.
void print_stacks() {
  std::printf(
      "| threads | tags | hazard pointers, a look each push | the same, a look for twice the threads |\n");
  std::printf("|--:|--:|--:|--:|\n");
  for (const unsigned threads : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
    std::string row = "| " + std::to_string(threads) + " |";
    for (const counts seen : {simulate_tagged_stack(threads), simulate_hazard_stack(threads, 1),
                              simulate_hazard_stack(threads, std::size_t{2} * threads)})
      row += " " + decimal(seen.per_operation(seen.transfers)) + " (" +
             decimal(seen.per_operation(seen.atomic_changes)) + ") |";
    std::printf("%s\n", row.c_str());
  }
}

void print(std::vector<std::string> words) {
  if (words == std::vector<std::string>{"--stacks"}) return print_stacks();
  const bool is_csv = std::erase(words, "--csv") > 0;
  const bool by_node = std::erase(words, "--nodes") > 0;
  std::vector<const workload*> wanted;
  for (const std::string& name : words) wanted.push_back(&workload_named(name));
  if (by_node) print_nodes_head();
  for (const workload* const work : wanted)
    (by_node ? print_nodes : is_csv ? print_csv : print_variants)(*work);
  if (words.empty()) (is_csv ? print_all_csv : print_scalloc)();
}

}  // namespace
}  // namespace heaplab::coherence

int main(int count, char** arguments) try {
  heaplab::coherence::print({arguments + 1, arguments + count});
  return 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "print_table: %s\n", error.what()), 2;
}
