// Signal handlers that do not allocate interrupt malloc and free at arbitrary instructions.
#include <sys/time.h>

#include <csignal>
#include <thread>

#include "base/atomic.h"
#include "check/message.h"

namespace heaplab::check {
namespace {

// A lock-free atomic may be used in a signal handler and by both threads. relaxed: a count that publishes
// nothing.
atomic<unsigned> signals = 0;
static_assert(atomic<unsigned>::is_always_lock_free);

void count_signal(int) {
  signals.fetch_add(1, std::memory_order_relaxed);
}

class frequent_signals {
public:
  frequent_signals() {
    struct sigaction action = {};
    action.sa_handler = count_signal;
    sigaction(SIGALRM, &action, &before_);
    set_interval(100);
  }
  ~frequent_signals() {
    set_interval(0);
    sigaction(SIGALRM, &before_, nullptr);
  }

private:
  static void set_interval(int us) {
    const itimerval interval = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &interval, nullptr);
  }
  struct sigaction before_ = {};
};

void allocate_and_check(unsigned seed, unsigned wanted_signals) {
  random_engine random(seed);
  message* held[100] = {};
  while (signals.load(std::memory_order_relaxed) < wanted_signals) {
    message*& letter = held[random() % 100];
    if (letter != nullptr) {
      ASSERT_TRUE(letter->intact());
      if (random() % 4 == 0) letter = message::resize(letter, random);
    }
    std::free(letter);
    letter = message::make(random);
  }
  for (message* const letter : held) std::free(letter);
}

TEST(signals, handlers_that_do_not_allocate_may_interrupt) {
  signals.store(0, std::memory_order_relaxed);
  const frequent_signals running;
  const unsigned wanted = rounds(2000);
  std::thread other([&] { allocate_and_check(2, wanted); });
  allocate_and_check(1, wanted);
  other.join();
}

}  // namespace
}  // namespace heaplab::check
