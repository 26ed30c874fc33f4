// Carries out a workload file one operation at a time, in any order that its waits allow.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "recorded/workload_view.h"

namespace heaplab::testing {

// What a replay does with threads, as a model: a random stream among those that need not wait goes on by one
// operation. Slots hold the sizes of blocks instead of pointers.
class any_order {
public:
  any_order(const recorded::workload_view& work, std::uint32_t seed)
      : work_(work), random_(seed), slots_(work.head().slots), streams_(work.streams().size()) {
    arrived_.resize(work.epochs().size());
    for (std::size_t i = 0; i < streams_.size(); ++i)
      for (const recorded::segment& piece : work.segments_of(work.streams()[i]))
        for (const recorded::operation step : work.operations_of(piece))
          streams_[i].operations.push_back(step);
  }

  // "", or what went wrong.
  std::string run() {
    if (!run_alone(recorded::prologue)) return "the prologue waits";
    streams_[recorded::main_thread].running = true;
    while (step_any()) {
    }
    for (std::size_t i = recorded::main_thread; i < streams_.size(); ++i)
      if (!streams_[i].done()) return "stream " + std::to_string(i) + " waits for ever";
    if (!run_alone(recorded::epilogue)) return "the epilogue waits";
    if (live_ != 0 && fault_.empty()) return std::to_string(live_) + " bytes are left";
    return fault_;
  }

  std::uint64_t meetings() const { return meetings_; }
  std::uint64_t censuses() const { return censuses_; }

private:
  struct block {
    std::uint64_t bytes = 0;
    bool there = false;
  };
  struct progress {
    std::vector<recorded::operation> operations;
    std::size_t next = 0;
    bool running = false;
    std::uint64_t moved = 0;
    bool done() const { return next == operations.size(); }
  };

  std::uint64_t bytes_of(recorded::operation step) const {
    return step.has_side() ? work_.sides()[step.value()].bytes : step.value();
  }

  bool run_alone(std::uint32_t stream) {
    progress& alone = streams_[stream];
    for (; !alone.done(); ++alone.next)
      if (!carry_out(alone, alone.operations[alone.next])) return false;
    return true;
  }

  bool step_any() {
    const std::size_t first = random_() % streams_.size();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      progress& stream = streams_[(first + i) % streams_.size()];
      if (!stream.running || stream.done() || !carry_out(stream, stream.operations[stream.next])) continue;
      ++stream.next;
      return true;
    }
    return false;
  }

  // False: must wait.
  bool carry_out(progress& own, recorded::operation step) {
    using recorded::action;
    switch (step.what()) {
      case action::start_thread:
        if (streams_[step.slot()].running) fault_ = "a stream is started twice";
        return streams_[step.slot()].running = true;
      case action::join_thread:
        return streams_[step.slot()].running && streams_[step.slot()].done();
      case action::pass_epoch:
        return pass(own, step.slot());
      case action::wait_until:
        return true;
      case action::reallocate:
        own.moved = bytes_of(step);
        return empty(step, 0, false);
      case action::place:
        live_ -= bytes_of(step);
        return fill(step, own.moved);
      case action::release:
      case action::destroy:
      case action::destroy_sized:
      case action::destroy_aligned:
      case action::release_apart:
        return empty(step, bytes_of(step), true);
      default:
        return fill(step, bytes_of(step));
    }
  }

  bool fill(recorded::operation step, std::uint64_t bytes) {
    block& slot = slots_[step.slot()];
    if (slot.there) fault_ = "slot " + std::to_string(step.slot()) + " holds a block and is filled";
    slot = {bytes, true};
    live_ += bytes;
    return true;
  }

  bool empty(recorded::operation step, std::uint64_t bytes, bool freed) {
    block& slot = slots_[step.slot()];
    if (!slot.there) {
      if (!step.is_remote())
        fault_ = "slot " + std::to_string(step.slot()) + " is empty and its own thread frees it";
      return false;
    }
    if (freed && slot.bytes != bytes) fault_ = "slot " + std::to_string(step.slot()) + " holds another block";
    if (freed) live_ -= bytes;
    slot.there = false;
    return true;
  }

  // All threads meet at every epoch: no drift at all is the strictest order.
  bool pass(progress& own, std::uint32_t epoch) {
    const recorded::epoch& at = work_.epochs()[epoch];
    if (own.moved != arriving) {
      own.moved = arriving;
      if (++arrived_[epoch] == at.threads) {
        ++meetings_;
        if (live_ != at.live_bytes) fault_ = "other bytes live at epoch " + std::to_string(epoch);
        for (const recorded::census& taken : work_.censuses())
          if (taken.epoch == epoch) count(taken);
      }
    }
    if (arrived_[epoch] < at.threads) return false;
    own.moved = 0;
    return true;
  }

  // The survivors are all blocks that live, each in its slot.
  void count(const recorded::census& taken) {
    std::uint64_t bytes = 0;
    for (const recorded::survivor& listed : work_.survivors_of(taken)) {
      const block& slot = slots_[listed.slot];
      bytes += listed.bytes;
      if (!slot.there || slot.bytes != listed.bytes)
        fault_ = "slot " + std::to_string(listed.slot) + " does not hold its survivor";
    }
    if (bytes != live_) fault_ = "the survivors are not what lives";
    ++censuses_;
  }

  static constexpr std::uint64_t arriving = ~std::uint64_t{0};

  const recorded::workload_view& work_;
  std::mt19937 random_;
  std::vector<block> slots_;
  std::vector<progress> streams_;
  std::vector<std::uint64_t> arrived_;
  std::uint64_t live_ = 0;
  std::uint64_t meetings_ = 0;
  std::uint64_t censuses_ = 0;
  std::string fault_;
};

}  // namespace heaplab::testing
