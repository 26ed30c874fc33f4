#include "probes/thread_team.h"

#include <span>
#include <system_error>

#include "probes/off_heap_pages.h"

namespace heaplab::probes {

namespace {

struct team {
  explicit team(unsigned count, team_task& work) : task(work), meeting(count) {}

  team_task& task;
  barrier meeting;
  // Written by the creator of the threads before it arrives at the gate, read by the threads behind the gate.
  bool complete = false;
  // Closed until all threads have been created or the attempt has failed: a thread first waits for the gate.
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
};

struct member {
  team* belongs_to = nullptr;
  unsigned index = 0;
  pthread_t handle{};
};

void take_part(team& all, unsigned index) {
  all.task.prepare(index);
  all.meeting.wait();
  if (index == 0) all.task.started();
  all.meeting.wait();
  all.task.run(index);
  all.meeting.wait();
  if (index == 0) all.task.finished();
  all.meeting.wait();
}

void* thread_main(void* argument) {
  const member& self = *static_cast<member*>(argument);
  team& all = *self.belongs_to;
  pthread_mutex_lock(&all.gate);
  const bool complete = all.complete;
  pthread_mutex_unlock(&all.gate);
  if (complete) take_part(all, self.index);
  return nullptr;
}

}  // namespace

void run_team(unsigned count, team_task& task) {
  off_heap_pages pages(off_heap_pages::needed<member>(count));
  const std::span<member> members = pages.array<member>(count);
  team all(count, task);
  int error = 0;
  unsigned made = 1;
  pthread_mutex_lock(&all.gate);
  for (; made < count; ++made) {
    members[made].belongs_to = &all;
    members[made].index = made;
    error = pthread_create(&members[made].handle, nullptr, thread_main, &members[made]);
    if (error != 0) break;
  }
  all.complete = error == 0;
  pthread_mutex_unlock(&all.gate);
  if (error == 0) take_part(all, 0);
  for (unsigned index = 1; index < made; ++index) pthread_join(members[index].handle, nullptr);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot create a thread");
}

}  // namespace heaplab::probes
