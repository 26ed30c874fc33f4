// A C++ program, linked against a malloc library as a user does. It names no C allocation function.
#include <iostream>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

extern "C" int malloc_info(int options, std::FILE* file);

int main() {
  std::map<int, std::string> words;
  std::thread([&words] {
    for (int i = 0; i < 10000; ++i) words[i] = std::string(static_cast<std::size_t>(i % 300), 'x');
  }).join();
  struct alignas(512) wide {
    char bytes[512];
  };
  std::vector<wide> aligned(100);
  volatile std::size_t impossible = PTRDIFF_MAX;
  try {
    ::operator delete(::operator new(impossible));
    return 1;
  } catch (const std::bad_alloc&) {
  }
  malloc_info(0, stdout);
  return words.size() == 10000 && reinterpret_cast<std::uintptr_t>(aligned.data()) % 512 == 0 ? 0 : 1;
}
