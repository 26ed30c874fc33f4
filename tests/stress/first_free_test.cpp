// scalloc: threads whose first call is free, one of them at every instruction of it. Who has no part of the
// heap yet has nothing that the other could wait for. They run on two CPUs, since in scalloc-cores the first
// call on a CPU makes what all threads there wait for, in thousands of instructions.
#if defined(__x86_64__)
#include <semaphore.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "check/message.h"
#include "single_stepper.h"
#include "support/cpus.h"

namespace heaplab::check {
namespace {

TEST(first_free, does_not_wait_for_another_threads_first_free) {
  alarm(60);
  constexpr std::size_t size = 48;
  const single_stepper stepper;
  testing::go_to_cpu(0);
  std::vector<void*> others(100'000);
  for (void*& other : others) other = std::malloc(size);
  void* const memory = std::malloc(size);
  sem_t may_free, freed;
  sem_init(&may_free, 0, 0);
  sem_init(&freed, 0, 0);
  std::thread freeing([&] {
    for (void* const other : others) {
      sem_wait(&may_free);
      std::free(other);
      sem_post(&freed);
    }
  });
  std::thread stepping([&] {
    testing::go_to_cpu(1);
    single_stepper::run([&] { std::free(memory); });
  });
  unsigned stops = 0;
  for (; single_stepper::wait(); single_stepper::go_on(), ++stops) {
    ASSERT_LT(stops, others.size());
    sem_post(&may_free);
    sem_wait(&freed);
  }
  EXPECT_GT(stops, 3U);
  for (std::size_t left = stops; left < others.size(); ++left) sem_post(&may_free);
  stepping.join();
  freeing.join();
  alarm(0);
}

}  // namespace
}  // namespace heaplab::check
#endif
