// A program with threads of three kinds that take turns as the system likes. `budgeted N` has one more
// allocation, of ten kinds; without N it has none. The requests of a run are the same, whoever serves them.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

static int planted = 0;

#define SITE __attribute__((noinline)) static
SITE void* filled(void* block, size_t bytes) {
  return memset(block, 1, bytes);
}
SITE void* parsed(size_t bytes) {
  return filled(malloc(bytes), bytes);
}
SITE void* answered(size_t bytes) {
  return filled(malloc(bytes), bytes);
}
SITE void* buffered(void* old, size_t bytes) {
  return filled(realloc(old, bytes), bytes);
}
SITE void* planted_block(size_t bytes) {
  return filled(malloc(bytes), bytes);
}

constexpr int requests = 2000;
static std::atomic<int> next_request{0};
static std::mutex lock;
static std::vector<void*> cache;  // of every tenth answer, by whichever thread comes first

SITE void keep(void* answer) {
  std::scoped_lock held(lock);
  cache.push_back(answer);
}

SITE void serve(int request) {
  void* const question = parsed(planted == 3 ? 96 : 64);  // larger blocks
  if (planted == 1) free(planted_block(32));              // a new call site in some threads
  if (planted == 2) free(parsed(64));                     // twice as many calls
  void* const answer = answered(100 + static_cast<size_t>(request % 50));
  if (planted == 4 && request % 10 == 0) planted_block(64);  // a leak
  free(question);
  if (planted == 5 && request % 10 == 5) return keep(answer);  // a cache with more entries
  if (request % 10 == 0) return keep(answer);
  free(answer);
}

SITE void serve_requests() {
  void* const scratch = planted == 6 ? planted_block(8000) : nullptr;  // once for each thread
  for (int request = next_request++; request < requests; request = next_request++) serve(request);
  free(scratch);
}

SITE void compress() {
  const size_t step = planted == 7 ? 256 : 1024;  // a buffer that grows in smaller steps
  for (int file = 0; file < 20; ++file) {
    void* buffer = nullptr;
    for (size_t bytes = step; bytes <= 16384; bytes += step) buffer = buffered(buffer, bytes);
    if (planted == 8) free(parsed(64));  // by another kind of thread than all its other calls
    if (planted == 8) free(parsed(64));
    free(buffer);
  }
}

SITE void log_lines() {
  for (int line = 0; line < 100; ++line) free(planted_block(80));
}

template <void (*Run)()>
__attribute__((noinline)) static void* thread_of(void*) {
  Run();
  return nullptr;
}

int main(int argc, char** argv) {
  planted = argc > 1 ? atoi(argv[1]) : 0;
  cache.reserve(requests);
  std::vector<pthread_t> threads(planted == 9 ? 7 : 6);
  for (size_t at = 0; at < threads.size(); ++at)
    pthread_create(&threads[at], nullptr,
                   at < 4   ? thread_of<serve_requests>
                   : at < 6 ? thread_of<compress>
                            : thread_of<log_lines>,  // a thread of a new kind
                   nullptr);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  if (planted == 10) planted_block(10000);  // one block, at the end
  for (void* const answer : cache) free(answer);
  return 0;
}
