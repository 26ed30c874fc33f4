// Instantiates every local allocator in both forms, so that a compiler reads the body of each of their
// functions and not its first lines alone. Compiled under every option that the public headers promise to
// work with.
#include <heaplab/local/local.h>

#include <map>
#include <memory_resource>
#include <mutex>
#include <string>
#include <vector>

namespace heaplab::local {

template class monotonic<>;
template class multipool<>;
template class multipool<new_delete, std::mutex>;
template class multipool_over_monotonic<>;
template class counting<>;
template class limiting<>;

template class resource<monotonic<std::pmr::memory_resource>>;
template class resource<multipool<std::pmr::memory_resource>>;
template class resource<synchronized_multipool<std::pmr::memory_resource>>;
template class resource<multipool_over_monotonic<std::pmr::memory_resource>>;
template class resource<new_delete>;
template class resource<counting<std::pmr::memory_resource>>;
template class resource<limiting<std::pmr::memory_resource>>;

}  // namespace heaplab::local

int main() {
  using namespace heaplab::local;
  monotonic_resource arena;
  make_winked<std::pmr::map<int, std::pmr::string>>(arena).emplace(1, "one");
  monotonic<> typed_arena;
  make_winked<std::vector<int>>(wink_anyway, typed_arena);
  multipool<> pools;
  const std::vector<int, allocator<int, multipool<>>> numbers(100, 1, pools);
  const std::vector<int, allocator<int, new_delete>> more(numbers.begin(), numbers.end());
  return numbers.back() - more.back();
}
