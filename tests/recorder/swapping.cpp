// Threads that exchange blocks: each frees what another acquired, at once. Usage: swapping THREADS CALLS
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int, char** arguments) {
  static std::atomic<void*> places[64];
  const long calls = std::atol(arguments[2]);
  std::vector<std::thread> threads;
  for (long number = 0; number < std::atol(arguments[1]); ++number)
    threads.emplace_back([=] {
      unsigned long random = static_cast<unsigned long>(number) * 7919 + 1;
      for (long call = 0; call < calls; ++call) {
        random = random * 6364136223846793005UL + 1;
        std::free(places[random >> 33 & 63].exchange(std::malloc(16 + (random >> 40) % 200)));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<void*>& place : places) std::free(place.load());
}
