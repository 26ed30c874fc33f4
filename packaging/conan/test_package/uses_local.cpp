// A program that an installed heaplab::local must build: every package's test compiles it.
#include <heaplab/local/local.h>

#include <memory_resource>
#include <string>
#include <vector>

int main() {
  heaplab::local::multipool_over_monotonic_resource pools;
  std::pmr::vector<std::pmr::string> names(&pools);
  names.emplace_back("long enough to need memory of the resource, and no small string");
  return names[0].get_allocator().resource() == &pools ? 0 : 1;
}
