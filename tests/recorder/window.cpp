// A program that is being recorded from some moment on: it has blocks, and its threads exchange others, while
// the window opens. Usage: window THREADS CALLS FOLDER      FOLDER is that of the recording
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int blocks = 1000;
constexpr std::size_t state_at = 12;  // src/trace/raw/raw_file.h
constexpr std::size_t control_bytes = 4096;
std::atomic<void*> places[64];

std::atomic<long> calls_before = 0;
std::atomic<bool> opened = false;

// Goes on for `calls` rounds in the window.
void swap_blocks(unsigned long seed, long calls) {
  unsigned long random = seed * 7919 + 1;
  for (long left = calls; left > 0; left -= opened ? 1 : 0) {
    calls_before += opened ? 0 : 1;
    random = random * 6364136223846793005UL + 1;
    std::atomic<void*>& place = places[random >> 33 & 63];
    if (random % 3 == 0)
      std::free(place.exchange(std::realloc(place.exchange(nullptr), 16 + (random >> 40) % 200)));
    else
      std::free(place.exchange(std::malloc(16 + (random >> 40) % 200)));
  }
}

bool open_window(const std::string& folder) {
  const int control = ::open((folder + "/control").c_str(), O_RDWR);
  void* const at = mmap(nullptr, control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, control, 0);
  if (at == MAP_FAILED) return false;
  *reinterpret_cast<volatile unsigned*>(static_cast<char*>(at) + state_at) = 1;
  return true;
}

}  // namespace

int main(int, char** arguments) {
  const long count = std::atol(arguments[1]);
  const long calls = std::atol(arguments[2]);
  std::vector<void*> kept;
  for (int number = 0; number < blocks; ++number) kept.push_back(std::calloc(1, 3001));
  for (int number = 0; number < blocks / 10; ++number) {
    std::free(kept.back());
    kept.pop_back();
    kept[static_cast<std::size_t>(number)] = std::realloc(kept[static_cast<std::size_t>(number)], 3002);
  }
  std::vector<std::thread> threads;
  for (long number = 0; number < count; ++number)
    threads.emplace_back(swap_blocks, static_cast<unsigned long>(number), calls);
  while (calls_before < count * calls) std::this_thread::yield();
  if (!open_window(arguments[3])) return 1;
  opened = true;
  for (std::thread& thread : threads) thread.join();
  for (void* const block : kept) std::free(block);
  for (std::atomic<void*>& place : places) std::free(place.load());
  return 0;
}
