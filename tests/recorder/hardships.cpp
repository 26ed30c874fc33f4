// What makes recording hard. Usage: hardships at_once THREADS | execute PROGRAM | narrow BYTES |
// fill_tls FOLDER LAST
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

thread_local void* volatile kept;

void call(int times) {
  for (int time = 0; time < times; ++time) {
    kept = std::malloc(static_cast<std::size_t>(time % 64) + 1);
    std::free(kept);
  }
}

// Threads that all live at the same time; as many as the system allows. Returns 0 if these were half or more.
int start_at_once(int count) {
  std::atomic<bool> enough = false;
  std::vector<std::thread> threads;
  try {
    while (static_cast<int>(threads.size()) < count)
      threads.emplace_back([&] {
        call(20);
        enough.wait(false);
        call(20);
      });
  } catch (const std::system_error&) {
    // The system's limit of threads.
  }
  enough = true;
  enough.notify_all();
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size()) >= count / 2 ? 0 : 1;
}

int execute(char* program) {
  char* arguments[] = {program, nullptr};
  call(100);
  return execv(program, arguments);
}

// Leaves `bytes` of address space and calls malloc many times.
int narrow(long bytes) {
  long pages = 0;
  std::FILE* const statm = std::fopen("/proc/self/statm", "r");
  if (statm == nullptr || std::fscanf(statm, "%ld", &pages) != 1) return 1;
  std::fclose(statm);
  const auto limit = static_cast<rlim_t>(pages * getpagesize() + bytes);
  const rlimit address_space{limit, limit};
  if (setrlimit(RLIMIT_AS, &address_space) != 0) return 1;
  call(200'000);
  return kept != nullptr ? 0 : 1;
}

// Loads the libraries of a folder, which have initial-exec thread-local memory, until the loader has none
// left for them, and then the library `last`. Returns how many of the folder were loaded.
int fill_tls(const char* folder, const char* last) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  int loaded = 0;
  for (const std::filesystem::path& path : paths) loaded += dlopen(path.c_str(), RTLD_NOW) != nullptr ? 1 : 0;
  const bool refused = dlopen(last, RTLD_NOW) == nullptr && std::strstr(dlerror(), "static TLS") != nullptr;
  call(100);
  return refused || *last == '\0' ? loaded : 255;
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view what = arguments[1];
  if (what == "at_once") return start_at_once(std::atoi(arguments[2]));
  if (what == "execute") return execute(arguments[2]);
  if (what == "narrow") return narrow(std::atol(arguments[2]));
  return fill_tls(arguments[2], arguments[3]);
}
