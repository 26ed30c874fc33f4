// Replays a recorded program: its threads, and the blocks that each thread allocated, moved and freed, in an
// order that was possible in the program. The card is catalog/workloads/replay.toml; the file is described in
// docs/workload-format.md.
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text_line.h"
#include "recorded/file_error.h"
#include "recorded/workload_view.h"
#include "workloads/harness/harness.h"
#include "workloads/harness/short_threads.h"
#include "workloads/replay/apart_heap.h"
#include "workloads/replay/census_taker.h"
#include "workloads/replay/epoch_gates.h"
#include "workloads/replay/local_heap.h"
#include "workloads/replay/player.h"

namespace {

using namespace heaplab;
using replay::touched;
using replay::wait_counts;

enum class pace { asap, recorded };
enum class ending { free, leak };

class replay_program final : public harness::workload {
public:
  harness::description describe() const override {
    return {"replay", "the allocations of a recorded program, thread by thread",
            "replay --file redis.workload --fill all"};
  }

  void declare(harness::option_table& options) override {
    options.text("file", file_, "Workload file, which `heaplab compare PROGRAM.trace` makes of a trace");
    options.choice("pace", pace_, {{"asap", pace::asap}, {"recorded", pace::recorded}},
                   "Replay as fast as possible, or no call earlier than in the recording");
    options.choice("fill", touched_,
                   {{"none", touched::none}, {"first", touched::first}, {"all", touched::all}},
                   "What a replay writes to a new block: nothing, a byte of each page, every byte");
    options.count(
        "drift", drift_, {0, 1'000'000'000},
        "Epochs that a thread may be ahead of the others; the file has them every 128 KiB and more");
    options.flag("marks", marks_, "Look at memory at up to 400 epochs, at which all threads then meet");
    options.choice("at-end", ending_, {{"free", ending::free}, {"leak", ending::leak}},
                   "What becomes of blocks the program never freed, after the clock has stopped");
    options.text("census", census_file_,
                 "Write to this file what holds the memory at the censuses of the workload, which "
                 "`heaplab advise` makes, a line of JSON each");
    options.flag("trim", trim_, "Call malloc_trim before each census");
    options.flag(
        "no-samples", no_samples_,
        "Take no census at even moments, which stops all threads: only at the peak, troughs and the end");
    options.size("shift", shift_, {0, std::uint64_t{1} << 30},
                 "Begin with a block of so many bytes, so that all others lie elsewhere in the heap");
    options.duration("trim-every", trim_every_, {0, 1e6},
                     "Call malloc_trim each time that so much of the recording has passed");
    options.choice("apart", apart_kind_,
                   {{"own", replay::local_kind::none},
                    {"monotonic", replay::local_kind::monotonic},
                    {"multipool", replay::local_kind::multipool},
                    {"both", replay::local_kind::both}},
                   "What serves the blocks that live apart: a heap of the replay's own, or in each thread a "
                   "local allocator; both is a multipool over a monotonic one");
    options.flag("driver-alone", driver_alone_, "Call no malloc: the time left is the replayer's own");
  }

  void check(const harness::option_table& options) override {
    if (file_.empty()) throw harness::usage_error("--file: name a workload file to replay");
    if (driver_alone_ && options.given("fill")) throw harness::usage_error("--driver-alone fills nothing");
    if (driver_alone_) touched_ = touched::none;
    if (trim_ && census_file_.empty()) throw harness::usage_error("--trim goes with --census");
    if (no_samples_ && census_file_.empty()) throw harness::usage_error("--no-samples goes with --census");
    if (!census_file_.empty() && options.given("latency"))
      throw harness::usage_error("--census goes without --latency");
    if (driver_alone_ && !census_file_.empty())
      throw harness::usage_error("--driver-alone has no blocks to take a census of");
    try {
      work_.emplace(file_);
    } catch (const recorded::file_error& error) {
      throw harness::usage_error(std::string("--file: ") + error.what());
    }
    harness::require_memory(work_->head().peak_live_bytes, "the blocks of the recorded program");
    if (!census_file_.empty() && work_->censuses().empty())
      throw harness::usage_error("--census: " + file_ + " was compiled without --census");
    if (!census_file_.empty())
      harness::require_memory(replay::census_taker::bytes_of(*work_), "the lists of a census");
    if (bytes_of_slots() != 0) harness::require_memory(bytes_of_slots(), "the slots of its pointers");
  }

  void run(harness::measurement& measured) override {
    measured_ = &measured;
    const std::size_t streams = work_->streams().size();
    measured.prepare_threads(static_cast<unsigned>(streams));
    measured.age_heap(0);
    pages_.emplace(
        harness::take_pages(bytes_of_slots() + probes::off_heap_pages::needed<thread_state>(streams)));
    slots_ = pages_->array<replay::slot>(work_->head().slots);
    threads_ = pages_->array<thread_state>(streams);
    if (apart_kind_ != replay::local_kind::none)
      for (std::size_t stream = 0; stream < streams; ++stream)
        locals_.push_back(std::make_unique<replay::local_heap>(apart_kind_));
    const harness::destination censuses("--census", census_file_);
    if (censuses.wanted())
      census_.emplace(*work_, slots_, replay::census_taker::manner{.trim = trim_, .samples = !no_samples_});
    gates_.emplace(*work_, measured, drift_, marks_, census_ ? &*census_ : nullptr);
    gates_->take_baseline();
    void* const first = shift_ != 0 ? ::malloc(shift_) : nullptr;
    play(recorded::prologue);
    measured.start();
    harness::clocked([this] { play(recorded::main_thread); });
    seconds_ = measured.elapsed();
    measured.stop();
    if (ending_ == ending::free) play(recorded::epilogue);
    ::free(first);
    report();
    if (census_) censuses.write(census_->text());
  }

  // --- operations of a player that concern other threads ---
  void start(std::uint32_t stream) {
    thread_state& made = threads_[stream];
    made.work = this;
    made.stream = stream;
    try {
      made.handle = harness::start_thread(thread_main, &made);
    } catch (const harness::run_error& error) {
      give_up(error.what());
    }
    // release pairs with the acquire in join(), which reads the handle.
    made.started.store(true, std::memory_order_release);
  }

  void join(std::uint32_t stream, wait_counts& counts) {
    thread_state& ended = threads_[stream];
    replay::wait_until_ready(counts, [&] {
      // acquire pairs with the release in start().
      return ended.started.load(std::memory_order_acquire);
    });
    pthread_join(ended.handle, nullptr);
  }

  // --- blocks that live apart ---
  void* allocate_apart(std::uint32_t stream, std::size_t bytes, std::size_t alignment) {
    if (locals_.empty()) return apart_.allocate(bytes, alignment);
    // The prologue fills the slots of the main thread.
    return locals_[std::max(stream, recorded::main_thread)]->allocate(bytes, alignment);
  }

  void release_apart(std::uint32_t stream, void* block, std::size_t bytes, std::size_t alignment,
                     bool is_remote) {
    if (locals_.empty()) return apart_.release(block, bytes, alignment);
    if (stream == recorded::epilogue) return;  // the allocators' destructors release what is left
    if (is_remote) give_up("--apart: a local allocator may not serve blocks that another thread frees");
    locals_[stream]->release(block, bytes, alignment);
  }

  // At the first epoch behind each such time of the recording, by the thread that passes first.
  void trim_if_due(std::uint32_t epoch) {
    if (trim_every_ == 0) return;
    const double seconds = static_cast<double>(work_->epochs()[epoch].time_us) * 1e-6;
    const auto due = static_cast<std::uint64_t>(seconds / trim_every_);
    // relaxed: decides which thread trims, and orders nothing.
    std::uint64_t done = trims_.load(std::memory_order_relaxed);
    while (due > done)
      if (trims_.compare_exchange_weak(done, due, std::memory_order_relaxed, std::memory_order_relaxed)) {
        ::malloc_trim(0);
        trim_calls_.fetch_add(1, std::memory_order_relaxed);  // read when all threads are joined
        return;
      }
  }

  void keep_pace(std::uint64_t microseconds) const {
    if (pace_ == pace::asap) return;
    constexpr double spun = 100e-6;  // in seconds; a sleep may take this much too long
    const double until = static_cast<double>(microseconds) * 1e-6;
    const auto left = [&] { return until + gates_->stood_still() - measured_->elapsed(); };
    while (left() > 0) {
      if (left() > spun) harness::sleep_for(left() - spun);
      spin_pause();
    }
  }

private:
  struct alignas(cache_line_bytes) thread_state {
    replay_program* work = nullptr;
    std::uint32_t stream = 0;
    pthread_t handle{};
    // written by the thread that starts this thread, read by the thread that joins it
    atomic<bool> started{false};
    wait_counts counts;  // written when the thread is done, read after it was joined
  };

  // The replay program as a player sees it, with the number of the calling thread's stream.
  template <bool Census>
  struct crew {
    static constexpr bool sees_blocks = Census;

    replay_program& work;
    std::uint32_t stream;

    void start(std::uint32_t other) { work.start(other); }
    void join(std::uint32_t other, wait_counts& counts) { work.join(other, counts); }
    void keep_pace(std::uint64_t microseconds) const { work.keep_pace(microseconds); }
    void* allocate_apart(std::size_t bytes, std::size_t alignment) {
      return work.allocate_apart(stream, bytes, alignment);
    }
    void release_apart(void* block, std::size_t bytes, std::size_t alignment, bool is_remote) {
      work.release_apart(stream, block, bytes, alignment, is_remote);
    }
    void filled(const void* block, std::size_t bytes) { work.census_->filled(block, bytes); }
    void pass_epoch(std::uint32_t epoch, std::int64_t live, wait_counts& counts) {
      publish(live);
      work.trim_if_due(epoch);
      work.gates_->pass(epoch, counts);
    }
    // relaxed: the next arrival at an epoch, or the join of this thread, publishes the balance.
    void publish(std::int64_t live) {
      work.gates_->balance_of(stream).store(live, std::memory_order_relaxed);
    }
  };

  static void* thread_main(void* argument) {
    const thread_state& self = *static_cast<thread_state*>(argument);
    harness::clocked([&] { self.work->play(self.stream); });
    return nullptr;
  }

  void play(std::uint32_t stream) {
    if (driver_alone_) {
      replay::no_heap heap;
      return play_with<touched::none, false>(stream, heap);
    }
    if (census_) {
      harness::plain_heap heap;
      return play_touching<true>(stream, heap);
    }
    if (stream < recorded::main_thread) {  // prologue or epilogue: not measured
      harness::plain_heap heap;
      return play_touching<false>(stream, heap);
    }
    measured_->with_heap(stream, [&](auto& heap) { play_touching<false>(stream, heap); });
  }

  template <bool Census, class Heap>
  void play_touching(std::uint32_t stream, Heap& heap) {
    switch (touched_) {
      case touched::none:
        return play_with<touched::none, Census>(stream, heap);
      case touched::first:
        return play_with<touched::first, Census>(stream, heap);
      case touched::all:
        return play_with<touched::all, Census>(stream, heap);
    }
  }

  template <touched Touched, bool Census, class Heap>
  void play_with(std::uint32_t stream, Heap& heap) {
    crew<Census> others{*this, stream};
    replay::player<Heap, Touched, crew<Census>> player(*work_, slots_, heap, others);
    player.play(stream);
    others.publish(player.live());
    threads_[stream].counts = player.counts();
  }

  std::size_t bytes_of_slots() const {
    return probes::off_heap_pages::needed<replay::slot>(work_->head().slots);
  }

  // Ends the process, because other threads may wait for the thread that could not be started.
  [[noreturn]] static void give_up(const char* what) {
    text_line line;
    line.add("replay: ").add(what);
    line.write_to(STDERR_FILENO);
    ::_exit(1);
  }

  void report() {
    const recorded::header& head = work_->head();
    const auto calls = static_cast<double>(head.allocations + head.reallocations + head.releases);
    wait_counts all;
    for (const thread_state& worker : threads_) {
      all.waits += worker.counts.waits;
      all.stalls += worker.counts.stalls;
    }
    measured_->add_metric("calls", calls, "1");
    measured_->add_metric("throughput", calls / seconds_, "1/s");
    if (calls > 0) measured_->add_metric("call_time", seconds_ / calls, "s");
    measured_->add_metric("threads_started", static_cast<double>(threads_.size() - recorded::main_thread - 1),
                          "1");
    measured_->add_metric("remote_releases", static_cast<double>(head.remote_releases), "1");
    measured_->add_metric("peak_live", static_cast<double>(head.peak_live_bytes), "B");
    if (trim_every_ > 0)
      measured_->add_metric("trims", static_cast<double>(trim_calls_.load(std::memory_order_relaxed)), "1");
    measured_->add_metric("waits", static_cast<double>(all.waits), "1");
    measured_->add_metric("stalls", static_cast<double>(all.stalls), "1");
    gates_->report();
  }

  std::string file_;
  pace pace_ = pace::asap;
  touched touched_ = touched::first;
  std::uint64_t drift_ = 8;
  bool marks_ = false;
  ending ending_ = ending::free;
  bool driver_alone_ = false;
  std::string census_file_;
  bool trim_ = false;
  bool no_samples_ = false;
  std::uint64_t shift_ = 0;
  double trim_every_ = 0;           // in seconds
  atomic<std::uint64_t> trims_{0};  // times to trim that have passed
  atomic<std::uint64_t> trim_calls_{0};
  std::optional<recorded::workload_view> work_;
  std::optional<probes::off_heap_pages> pages_;
  std::span<replay::slot> slots_;
  std::span<thread_state> threads_;
  std::optional<replay::census_taker> census_;
  std::optional<replay::epoch_gates> gates_;
  replay::apart_heap apart_;
  replay::local_kind apart_kind_ = replay::local_kind::none;
  std::vector<std::unique_ptr<replay::local_heap>> locals_;  // by stream; empty: blocks are in apart_
  harness::measurement* measured_ = nullptr;
  double seconds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<replay_program>(argc, argv);
}
