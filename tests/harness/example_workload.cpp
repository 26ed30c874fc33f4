// A workload with an option of every kind, that can be told to fail its self-check.
#include <string>

#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

enum class touch { nothing, first, all };

class example final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"example_workload", "pairs of malloc and free, in each of some threads",
            "example_workload --threads 2 --size 1KiB"};
  }

  void declare(harness::option_table& options) override {
    options.count("threads", threads_, {1, 256}, "Threads at work");
    options.count("pairs", pairs_, {1, 1'000'000'000}, "Pairs of malloc and free, in each thread");
    options.size("size", size_, {1, std::uint64_t{1} << 30}, "Size of every object");
    options.size("slack", slack_, {0, std::uint64_t{1} << 30}, "Bytes of the object that stay untouched");
    options.percent("keep", keep_, "Objects freed only at the end of the thread");
    options.choice("touch", touch_,
                   {{"nothing", touch::nothing}, {"first", touch::first}, {"all", touch::all}},
                   "What is written");
    options.duration("pause", pause_, {0, 10}, "Time between preparation and start");
    options.flag("honest", honest_, "Whether the self-check holds");
    options.text("note", note_, "Any text");
  }

  void check(const harness::option_table&) override {
    if (slack_ > size_) throw harness::usage_error("--slack must not exceed --size");
    harness::require_memory(threads_ * size_, "objects of --size");
    harness::require_memory(slack_, "the slack");
  }

  void run(harness::measurement& measured) override {
    memory_ = &measured.add_series("memory", "B");
    run_team(measured);
    measured.add_metric("pairs", static_cast<double>(threads_ * pairs_), "1");
    measured.verify(honest_, "honesty");
  }

private:
  void run(unsigned thread) override {
    measured_->with_heap(thread, [&](auto& heap) {
      for (std::uint64_t i = 0; i < pairs_; ++i) {
        void* const object = heap.allocate(size_);
        if (touch_ != touch::nothing) *static_cast<char*>(object) = 1;
        heap.release(object);
      }
    });
    if (thread == 0)
      memory_->add(measured_->elapsed(), static_cast<double>(measured_->read_memory().anonymous));
  }

  std::uint64_t pairs_ = 1000;
  std::uint64_t size_ = 64;
  std::uint64_t slack_ = 0;
  double keep_ = 0;
  touch touch_ = touch::first;
  double pause_ = 0;
  bool honest_ = true;
  std::string note_;
  harness::series* memory_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<example>(argc, argv);
}
