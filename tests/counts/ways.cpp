// Sixteen ways of using malloc, each with the same calls in the same order in every run: threads take turns.
// Each way has a process of its own, and runs twice. Under valgrind's callgrind the second run writes its
// counts, with the name of the way and its pairs of malloc and free.
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr unsigned most_threads = 8;

// --- blocks ---

struct generator {
  std::uint64_t state = 88172645463325252;

  std::size_t operator()(std::size_t least, std::size_t most) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return least + state % (most - least + 1);
  }
};

generator random_number;
unsigned long pairs = 0;

void* used(void* block) {
  if (block == nullptr) std::abort();
  *static_cast<volatile char*>(block) = 1;
  return block;
}

void* get(std::size_t bytes) {
  return used(std::malloc(bytes));
}

void put(void*& block) {
  pairs += block != nullptr;
  std::free(block);
  block = nullptr;
}

std::array<void*, 16'384> blocks;

// --- one thread ---

template <unsigned Count, std::size_t Bytes>
void newest_first(unsigned) {
  for (unsigned at = 0; at < Count; ++at) blocks[at] = get(Bytes);
  for (unsigned at = Count; at > 0; --at) put(blocks[at - 1]);
}

template <unsigned Count, std::size_t Bytes>
void oldest_first(unsigned) {
  for (unsigned at = 0; at < Count; ++at) {
    put(blocks[at]);
    blocks[at] = get(Bytes);
  }
}

template <unsigned Live, std::size_t Least, std::size_t Most>
void at_random(unsigned) {
  for (unsigned left = Live; left > 0; --left) {
    void*& block = blocks[random_number(0, Live - 1)];
    put(block);
    block = get(random_number(Least, Most));
  }
}

template <unsigned Count>
void freed_at_random(unsigned) {
  for (unsigned at = 0; at < Count; ++at) blocks[at] = get(random_number(16, 1024));
  for (unsigned left = Count; left > 0; --left) {
    std::swap(blocks[random_number(0, left - 1)], blocks[left - 1]);
    put(blocks[left - 1]);
  }
}

void growing(unsigned) {
  for (unsigned count = 0; count < 8; ++count) {
    void* block = nullptr;
    for (std::size_t bytes = 16; bytes < 100'000; bytes += bytes / 2) {
      block = used(std::realloc(block, bytes));
      ++pairs;
    }
    std::free(block);
  }
}

void zeroed(unsigned) {
  for (unsigned at = 0; at < 256; ++at) {
    put(blocks[at]);
    blocks[at] = used(std::calloc(random_number(1, 8), 100));
  }
}

void aligned(unsigned) {
  for (unsigned at = 0; at < 256; ++at) {
    put(blocks[at]);
    blocks[at] = used(std::aligned_alloc(std::size_t{64} << at % 7, 200));
  }
}

// --- several threads ---

// The first thread allocates, the second frees. A ring that the first thread fills, and the second empties.
template <unsigned Places, std::size_t Bytes>
void ring(unsigned thread) {
  for (unsigned at = 0; at < Places; ++at)
    if (thread == 0)
      blocks[at] = get(Bytes);
    else
      put(blocks[at]);
}

// The second thread frees 1024 blocks, and allocates as many, which the first frees.
void exchange(unsigned) {
  for (unsigned at = 0; at < 1024; ++at) {
    put(blocks[at]);
    blocks[at] = get(64);
  }
}

void any_frees_any(unsigned) {
  for (unsigned left = 64; left > 0; --left) {
    void*& block = blocks[random_number(0, 1023)];
    put(block);
    block = get(random_number(16, 1024));
  }
}

// A thread that ends leaves a half of its blocks to the next one.
void short_lives(unsigned) {
  pthread_t thread;
  const auto live = [](void*) -> void* {
    for (unsigned at = 0; at < 256; ++at) {
      put(blocks[at]);
      blocks[at] = get(16 + at);
    }
    for (unsigned at = 0; at < 256; at += 2) put(blocks[at]);
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, live, nullptr) != 0) std::abort();
  pthread_join(thread, nullptr);
}

// --- all of them ---

struct way {
  const char* name;
  unsigned threads, turns;
  void (*take_turn)(unsigned thread);
};

constexpr way ways[] = {
    {"newest-first-64", 1, 64, newest_first<32, 64>},
    {"together-64", 1, 8, newest_first<4096, 64>},
    {"oldest-first-64", 1, 8, oldest_first<1024, 64>},
    {"random-16-to-1024", 1, 8, at_random<1024, 16, 1024>},
    {"random-1k-to-8k", 1, 8, at_random<512, 1024, 8192>},
    {"random-16k-to-512k", 1, 8, at_random<64, 16'384, 524'288>},
    {"random-2m-to-8m", 1, 16, at_random<8, 2'097'152, 8'388'608>},
    {"freed-at-random", 1, 4, freed_at_random<4096>},
    {"realloc", 1, 8, growing},
    {"calloc", 1, 8, zeroed},
    {"aligned", 1, 8, aligned},
    {"ring-of-1024", 2, 8, ring<1024, 64>},
    {"one-to-one", 2, 1024, ring<1, 64>},
    {"exchange", 2, 4, exchange},
    {"any-frees-any", most_threads, 16, any_frees_any},
    {"short-threads", 1, 8, short_lives},
};

// --- taking turns ---

const way* current;
sem_t turn_of[most_threads], turn_ended;

void wait_for(sem_t& signal) {
  while (sem_wait(&signal) != 0) continue;
}

void* take_turns(void* number) {
  const auto thread = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(number));
  for (;;) {
    wait_for(turn_of[thread]);
    current->take_turn(thread);
    sem_post(&turn_ended);
  }
}

void let_all_take_turns() {
  for (unsigned turn = 0; turn < current->turns; ++turn) {
    current->take_turn(0);
    for (unsigned thread = 1; thread < current->threads; ++thread) {
      sem_post(&turn_of[thread]);
      wait_for(turn_ended);
    }
  }
}

void count(const way& counted) {
  current = &counted;
  sem_init(&turn_ended, 0, 0);
  for (std::uintptr_t thread = 1; thread < counted.threads; ++thread) {
    pthread_t started;
    sem_init(&turn_of[thread], 0, 0);
    if (pthread_create(&started, nullptr, take_turns, reinterpret_cast<void*>(thread)) != 0) std::abort();
  }
  let_all_take_turns();
  pairs = 0;
  CALLGRIND_ZERO_STATS;
  let_all_take_turns();
  char name_and_pairs[64];
  std::snprintf(name_and_pairs, sizeof name_and_pairs, "%s %lu", counted.name, pairs);
  CALLGRIND_DUMP_STATS_AT(name_and_pairs);
}

}  // namespace

int main() {
  for (const way& each : ways) {
    const pid_t child = fork();
    if (child == 0) {
      count(each);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
  }
}
