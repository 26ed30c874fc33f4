#include "explore/explorer.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/assertion.h"

namespace heaplab::explore {

// To look at an invariant takes longer than the step before it, and of many thousand runs most differ little.
static constexpr std::size_t first_runs = 10'000;
// An exploration learns where threads meet in a few steps, or the places are others in every run.
static constexpr std::size_t most_learned = 100;

struct explorer::fiber {
  static constexpr std::size_t stack_bytes = 256 * 1024;

  ucontext_t context;
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
  bool ended = true;
  const void* sleeps_on = nullptr;
};

explorer::explorer(program under_test, bounds limits) : program_(std::move(under_test)), bounds_(limits) {
  for (std::size_t thread = 0; thread < program_.threads.size(); ++thread)
    fibers_.push_back(std::make_unique<fiber>());
}

explorer::~explorer() = default;

outcome explorer::explore() {
  outcome result;
  for (std::size_t begun = 0;; ++begun) {
    if (begun == bounds_.runs) throw std::length_error("too many runs");
    looks_ = ++result.runs <= first_runs || result.runs % 16 == 0;
    run_once();
    if (!failure_.empty()) {
      result.failed = true;
      result.what = failure_;
      result.schedule = schedule_;
      return result;
    }
    if (learn()) {
      decisions_.clear();
      result.runs = 0;
    } else if (!next_schedule()) {
      return result;
    }
  }
}

bool explorer::learn() {
  if (!knows_places_) return false;
  const std::size_t known = meeting_at_.size();
  for (const use& used : uses_)
    if (used.by_others && used.written && !meets_at(used.place)) meeting_at_.push_back(used.place);
  if (meeting_at_.size() == known && !diverged_) return false;
  knows_places_ = !diverged_ && ++learned_ <= most_learned;
  return true;
}

bool explorer::meets_at(const void* place) const {
  return !knows_places_ || std::ranges::find(meeting_at_, place) != meeting_at_.end();
}

void explorer::run_once() {
  depth_ = 0;
  preemptions_ = 0;
  steps_ = 0;
  diverged_ = false;
  schedule_.clear();
  uses_.clear();
  failure_.clear();
  written_ = false;
  program_.setup();
  for (auto& of_thread : fibers_) {
    getcontext(&of_thread->context);
    of_thread->context.uc_stack.ss_sp = of_thread->stack.get();
    of_thread->context.uc_stack.ss_size = fiber::stack_bytes;
    of_thread->context.uc_link = nullptr;
    makecontext(&of_thread->context, &explorer::fiber_main, 0);
    of_thread->ended = false;
    of_thread->sleeps_on = nullptr;
  }
  running_ = this;
  current_ = choose(false);
  swapcontext(&main_context_, &fibers_[current_]->context);
  running_ = nullptr;
  if (!failure_.empty() || !program_.check) return;
  try {
    program_.check();
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

void explorer::fiber_main() {
  explorer& self = *running_;
  try {
    self.program_.threads[self.current_]();
  } catch (const std::exception& error) {
    self.failure_ = error.what();
  }
  self.thread_ended();
}

// A failure ends the run at once: the other threads are not resumed.
void explorer::thread_ended() {
  fibers_[current_]->ended = true;
  if (failure_.empty()) keeps_invariant();
  if (failure_.empty() && !runnable().empty()) {
    current_ = choose(false);
    setcontext(&fibers_[current_]->context);
  }
  for (const auto& of_thread : fibers_)
    if (!of_thread->ended && failure_.empty()) failure_ = "deadlock";
  setcontext(&main_context_);
  std::abort();
}

std::vector<unsigned> explorer::runnable() const {
  std::vector<unsigned> result;
  for (unsigned thread = 0; thread < fibers_.size(); ++thread) {
    const fiber& of_thread = *fibers_[thread];
    if (!of_thread.ended && of_thread.sleeps_on == nullptr) result.push_back(thread);
  }
  return result;
}

// Option 0 continues the current thread, if that thread can run: no preemption.
unsigned explorer::choose(bool current_may_go_on) {
  if (current_may_go_on && preemptions_ == bounds_.preemptions) {
    schedule_.push_back(current_);
    return current_;
  }
  std::vector<unsigned> options = runnable();
  if (current_may_go_on) {
    std::erase(options, current_);
    options.insert(options.begin(), current_);
  }
  unsigned taken = 0;
  if (options.size() > 1) {
    const decision first{.taken = 0, .options = static_cast<unsigned>(options.size()), .steps = steps_};
    if (depth_ == decisions_.size()) decisions_.push_back(first);
    const decision& made = decisions_[depth_++];
    diverged_ |= made.options != first.options || made.steps != first.steps;
    if (!diverged_) taken = made.taken;
  }
  if (current_may_go_on && taken != 0) ++preemptions_;
  schedule_.push_back(options[taken]);
  return options[taken];
}

void explorer::switch_to(unsigned thread) {
  if (thread == current_) return;
  fiber& from = *fibers_[current_];
  current_ = thread;
  swapcontext(&from.context, &fibers_[thread]->context);
}

// The threads stay where they are, perhaps in the middle of a destructor: nothing is unwound.
void explorer::end_run() {
  setcontext(&main_context_);
  std::abort();
}

bool explorer::keeps_invariant() {
  if (!std::exchange(written_, false) || !looks_ || !program_.invariant) return true;
  const assertion_under_way looks;
  try {
    program_.invariant();
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
  return failure_.empty();
}

void explorer::step(const void* place, bool writes) {
  if (assertions_under_way > 0) return;
  use& used = use_of(place);
  used.by_others |= used.first != current_;
  used.written |= writes;
  go_on(used.meets);
  written_ |= writes;
}

explorer::use& explorer::use_of(const void* place) {
  std::size_t& guess =
      guesses_[reinterpret_cast<std::uintptr_t>(place) / alignof(std::uint32_t) % guesses_.size()];
  if (guess < uses_.size() && uses_[guess].place == place) return uses_[guess];
  guess = static_cast<std::size_t>(std::ranges::find(uses_, place, &use::place) - uses_.begin());
  if (guess == uses_.size()) uses_.push_back({.place = place, .first = current_, .meets = meets_at(place)});
  return uses_[guess];
}

void explorer::point() {
  if (assertions_under_way == 0) go_on(true);
}

void explorer::go_on(bool may_switch) {
  if (!keeps_invariant()) end_run();
  if (++steps_ > bounds_.steps) {
    failure_ = "no progress";
    end_run();
  }
  if (may_switch) switch_to(choose(true));
}

void explorer::sleep(const void* place) {
  fibers_[current_]->sleeps_on = place;
  if (runnable().empty()) {
    failure_ = "deadlock";
    end_run();
  }
  switch_to(choose(false));
}

void explorer::wake_one(const void* place) {
  for (const auto& of_thread : fibers_) {
    if (of_thread->sleeps_on != place) continue;
    of_thread->sleeps_on = nullptr;
    return;
  }
}

bool explorer::next_schedule() {
  while (!decisions_.empty()) {
    decision& last = decisions_.back();
    if (++last.taken < last.options) return true;
    decisions_.pop_back();
  }
  return false;
}

}  // namespace heaplab::explore
