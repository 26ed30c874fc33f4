// Threads that act one at a time, each on command, so that a sequence runs the same way every time.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "base/assertion.h"
#include "check/model/operation.h"
#include "check/model/shadow_heap.h"

namespace heaplab::check {

class team {
public:
  explicit team(shadow_heap& heap) : heap_(heap) {
    for (worker& member : workers_) {
      member.owner = this;
      sem_init(&member.told, 0, 0);
    }
    sem_init(&done_, 0, 0);
  }

  // Returns when the thread of the operation has performed it. A thread that has ended is started again.
  void perform(const operation& step) {
    HEAPLAB_ASSERT(step.thread < thread_count);
    if (step.thread == 0) {
      heap_.perform(step);
    } else if (step.function == call::end_thread) {
      end(workers_[step.thread]);
    } else {
      tell(workers_[step.thread], step);
    }
  }

  void end_all() {
    for (worker& member : workers_) end(member);
  }

private:
  struct worker {
    team* owner = nullptr;
    bool runs = false;
    pthread_t thread = {};
    sem_t told;
    operation task = {};
  };

  void tell(worker& member, const operation& task) {
    HEAPLAB_ASSERT(&member != workers_);  // thread 0 is the caller
    member.task = task;
    if (!member.runs && pthread_create(&member.thread, nullptr, work, &member) != 0)
      verdict::fault("pthread_create failed");
    member.runs = true;
    sem_post(&member.told);
    wait(done_);
  }

  void end(worker& member) {
    if (!member.runs) return;
    member.task.function = call::end_thread;
    sem_post(&member.told);
    pthread_join(member.thread, nullptr);
    member.runs = false;
  }

  static void* work(void* argument) {
    worker& me = *static_cast<worker*>(argument);
    for (;;) {
      wait(me.told);
      if (me.task.function == call::end_thread) return nullptr;
      me.owner->heap_.perform(me.task);
      sem_post(&me.owner->done_);
    }
  }

  static void wait(sem_t& semaphore) {
    while (sem_wait(&semaphore) != 0) {
    }
  }

  shadow_heap& heap_;
  worker workers_[thread_count];
  sem_t done_;
};

}  // namespace heaplab::check
