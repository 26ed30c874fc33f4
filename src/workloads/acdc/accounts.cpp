#include "workloads/acdc/accounts.h"

#include <string>

#include "workloads/harness/harness.h"

namespace heaplab::acdc {

namespace {

std::string line(std::initializer_list<std::uint64_t> numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) {
    if (!text.empty()) text += '\t';
    text += std::to_string(number);
  }
  return text + '\n';
}

}  // namespace

accounts::accounts(const std::string& where, std::uint64_t ticks) : where_("--accounts", where) {
  if (!where_.wanted()) return;
  pages_.emplace(harness::take_pages(probes::off_heap_pages::needed<row>(ticks)));
  rows_ = pages_->array<row>(ticks);
}

void accounts::write(placed_array<thread_state>& threads) const {
  if (!where_.wanted()) return;
  std::string text = "tick\tallocated_bytes\tfreed_bytes\tallocated_objects\tfreed_objects\n";
  for (std::uint64_t i = 0; i < rows_.size(); ++i)
    text += line({i + 1, rows_[i].allocated_bytes, rows_[i].freed_bytes, rows_[i].allocated_objects,
                  rows_[i].freed_objects});
  const auto add_table = [&](const char* headings, std::size_t rows, auto count) {
    text += headings;
    for (std::size_t i = 0; i < rows; ++i) {
      std::uint64_t sum = 0;
      for (std::size_t thread = 0; thread < threads.size(); ++thread) sum += count(threads[thread], i);
      if (sum != 0) text += line({i, sum});
    }
  };
  add_table("liveness\tobjects\n", threads[0].objects_by_liveness.size(),
            [](const thread_state& thread, std::size_t i) { return thread.objects_by_liveness[i]; });
  add_table("log2_size\tobjects\n", threads[0].objects_by_log2_size.size(),
            [](const thread_state& thread, std::size_t i) { return thread.objects_by_log2_size[i]; });
  where_.write(text);
}

}  // namespace heaplab::acdc
