// nlohmann::json reads documents, as it is or with an allocator parameter: of each document, a monotonic
// allocator that is winked out. Prints how many values all documents have.
//
//   json_documents plain|local ROUNDS FILE...
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "heaplab/local/local.h"

namespace {

using arena = heaplab::local::monotonic<>;
arena* current = nullptr;  // basic_json makes its allocators itself: they have no state

template <class T>
struct in_current {
  using value_type = T;
  in_current() = default;
  template <class U>
  in_current(const in_current<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(current->allocate(count * sizeof(T), alignof(T))); }
  void deallocate(T*, std::size_t) {}
  friend bool operator==(const in_current&, const in_current&) { return true; }
};

using local_text = std::basic_string<char, std::char_traits<char>, in_current<char>>;
using local_json = nlohmann::basic_json<std::map, std::vector, local_text, bool, std::int64_t, std::uint64_t,
                                        double, in_current>;

template <class Json>
std::size_t values_of(const Json& of) {
  std::size_t found = 1;
  if (of.is_structured())
    for (const auto& value : of) found += values_of(value);
  return found;
}

[[gnu::noinline]] std::size_t read_document(const std::string& text) {
  return values_of(nlohmann::json::parse(text));
}

std::size_t read_document_in_arena(const std::string& text) {
  arena own({.first_chunk = 8 << 20});
  current = &own;
  return values_of(*new (own.allocate(sizeof(local_json), alignof(local_json)))
                       local_json(local_json::parse(text)));
}

}  // namespace

int main(int count, char** words) {
  const bool local = std::string_view(words[1]) == "local";
  const int rounds = std::stoi(words[2]);
  std::size_t values = 0;
  for (int i = 3; i < count; ++i) {
    std::ostringstream all;
    all << std::ifstream(words[i]).rdbuf();
    const std::string text = all.str();
    for (int round = 0; round < rounds; ++round)
      values += local ? read_document_in_arena(text) : read_document(text);
  }
  std::printf("%zu\n", values);
}
