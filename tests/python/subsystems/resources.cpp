// Uses of monotonic resources, with and without the mistakes that published benchmarks made.
#include <array>
#include <cstddef>
#include <list>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "heaplab/local/local.h"

namespace {

constexpr int rounds = 50;

[[gnu::noinline]] long fill(std::pmr::memory_resource& memory) {
  std::pmr::list<long> numbers(&memory);
  for (long number = 0; number < 2000; ++number) numbers.push_back(number);
  return numbers.back();
}

template <class Resource>
[[gnu::noinline]] long never_released() {
  Resource memory;
  long sum = 0;
  for (int round = 0; round < rounds; ++round) sum += fill(memory);
  return sum;
}

template <class Resource>
[[gnu::noinline]] long of_rounds(auto... arguments) {
  long sum = 0;
  for (int round = 0; round < rounds; ++round) {
    Resource memory(arguments...);
    sum += fill(memory);
  }
  return sum;
}

}  // namespace

int main(int count, char** words) {
  using theirs = std::pmr::monotonic_buffer_resource;
  using ours = heaplab::local::monotonic_resource;
  const std::string_view use = count > 1 ? words[1] : "";
  std::array<std::byte, 1024> buffer;
  if (use == "never_released") return never_released<theirs>() == 0;
  if (use == "never_released_local") return never_released<ours>() == 0;
  if (use == "outgrown") return of_rounds<theirs>(buffer.data(), buffer.size()) == 0;
  if (use == "outgrown_local")
    return of_rounds<ours>(heaplab::local::monotonic_options{.buffer = buffer}) == 0;
  if (use == "large_enough") return of_rounds<theirs>(std::size_t{100'000}) == 0;
  return 2;
}
