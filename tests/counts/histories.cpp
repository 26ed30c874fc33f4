// The same work ten times in one process, each time after another history of the heap: random numbers of
// blocks of random sizes that were allocated and freed. Under valgrind's callgrind each time writes the
// instructions of the work alone.
#include <valgrind/callgrind.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

// What is left of a history stays: the heap is in another state each time.
std::vector<void*> left;

void live_through(unsigned history) {
  std::mt19937 random(history);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (unsigned step = 0; step < 2000 + below(3000); ++step) {
    if (left.empty() || below(5) < 3)
      left.push_back(std::malloc(below(8) == 0 ? below(200'000) : below(2000)));
    else {
      std::swap(left[below(left.size())], left.back());
      std::free(left.back());
      left.pop_back();
    }
  }
}

std::size_t work() {
  std::size_t sum = 0;
  // Sizes of every kind: of a few bytes, of a page, and far above.
  std::array<void*, 200> blocks;
  for (std::size_t at = 0; at < blocks.size(); ++at) blocks[at] = std::malloc(1 + at * at * 7);
  for (std::size_t at = 0; at < blocks.size(); at += 3)
    blocks[at] = std::realloc(blocks[at], 1 + at * at * 20);
  for (std::size_t at = 0; at < blocks.size(); at += 2) std::free(blocks[at]);
  for (std::size_t at = 0; at < blocks.size(); at += 2) blocks[at] = std::calloc(at + 1, 30);
  for (void* const block : blocks) sum += std::strlen(static_cast<char*>(std::memset(block, 0, 1)));
  for (void* const block : blocks) std::free(block);
  std::free(std::aligned_alloc(4096, 5000));
  // Containers and strings, as in a program.
  std::map<std::string, std::vector<std::string>> index;
  for (unsigned word = 0; word < 500; ++word) {
    std::string text = "a word of the text, number " + std::to_string(word * 7919 % 500);
    index[text.substr(0, 28)].push_back(text + text);
  }
  for (const auto& [key, texts] : index) sum += key.size() * texts.size() + texts.front().find("number 499");
  return sum;
}

}  // namespace

int main() {
  std::size_t sum = work();  // the loader binds what the work calls
  for (unsigned history = 0; history < 10; ++history) {
    live_through(history);
    CALLGRIND_ZERO_STATS;
    sum -= work();
    CALLGRIND_DUMP_STATS_AT("history");
    sum += work();
  }
  return sum == 0;
}
