// fork while another thread stands at every single instruction of malloc, realloc and free, also where it
// holds locks: fork must not wait for them.
#if defined(__x86_64__)
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "check/forked_heap.h"
#include "single_stepper.h"

namespace heaplab::check {
namespace {

// Each size some times, so that a span may run dry, and empty; blocks that another thread allocated; one that
// grows.
void allocate_and_free(const one_of_each& foreign) {
  void* growing = nullptr;
  for (unsigned i = 0; i < std::size(sizes); ++i) {
    void* mine[3];
    for (void*& one : mine) one = std::malloc(sizes[i]);
    growing = std::realloc(growing, sizes[i]);
    std::free(foreign[i]);
    for (void* const one : mine) std::free(one);
  }
  std::free(growing);
}

TEST(fork, at_every_instruction_of_another_thread) {
  const single_stepper stepper;
  const one_of_each foreign = make_blocks(0);
  one_of_each held;
  std::thread other([&] {
    held = make_blocks(1000);
    single_stepper::run([&] { allocate_and_free(foreign); });
  });
  const unsigned every = 10 / rounds(10);
  unsigned stops = 0;
  int status = 0;
  for (; single_stepper::wait(); single_stepper::go_on(), ++stops) {
    if (status != 0 || stops % every != 0) continue;
    const pid_t child = fork();
    if (child == 0) _exit(live_as_child(held));
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "at stop " << stops;
  }
  other.join();
  EXPECT_TRUE(check_and_free(held, 1000));
  EXPECT_GT(stops, 100U);
}

}  // namespace
}  // namespace heaplab::check
#endif
