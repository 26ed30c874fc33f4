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
    for (worker& one : workers_) {
      one.owner = this;
      sem_init(&one.told, 0, 0);
    }
    sem_init(&done_, 0, 0);
  }

  // Returns when the thread of the operation has performed it. A thread that has ended is started again.
  void perform(const operation& one) {
    HEAPLAB_ASSERT(one.thread < thread_count);
    if (one.thread == 0) {
      heap_.perform(one);
    } else if (one.function == call::end_thread) {
      end(workers_[one.thread]);
    } else {
      tell(workers_[one.thread], one);
    }
  }

  void end_all() {
    for (worker& one : workers_) end(one);
  }

private:
  struct worker {
    team* owner = nullptr;
    bool runs = false;
    pthread_t thread = {};
    sem_t told;
    operation task = {};
  };

  void tell(worker& one, const operation& task) {
    one.task = task;
    if (!one.runs && pthread_create(&one.thread, nullptr, work, &one) != 0)
      verdict::fault("pthread_create failed");
    one.runs = true;
    sem_post(&one.told);
    wait(done_);
  }

  void end(worker& one) {
    if (!one.runs) return;
    one.task.function = call::end_thread;
    sem_post(&one.told);
    pthread_join(one.thread, nullptr);
    one.runs = false;
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
