// A user of the header-only local allocators: the package must bring their headers and C++20.
#include <heaplab/local/local.h>

#include <memory_resource>
#include <vector>

int main() {
  heaplab::local::multipool_over_monotonic_resource pools;
  std::pmr::vector<int> numbers(1000, 1, &pools);
  return numbers.back() - 1;
}
