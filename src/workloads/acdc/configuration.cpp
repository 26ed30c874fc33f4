#include "workloads/acdc/configuration.h"

#include <algorithm>

#include "base/bits.h"
#include "workloads/harness/shared_options.h"
#include "workloads/harness/value_text.h"

namespace heaplab::acdc {

namespace {

using harness::usage_error;

constexpr std::uint64_t most_ticks = 1'000'000'000;
constexpr std::uint64_t most_liveness = 1'000'000;
constexpr std::uint64_t largest_size = std::uint64_t{1} << 40;

}  // namespace

void configuration::declare(harness::option_table& options) {
  options.choice("mode", mode, {{"acdc", mode::acdc}, {"false-sharing", mode::false_sharing}},
                 "What is emulated: a mutator, or threads that write to neighbouring objects");
  harness::declare_threads(options, threads);
  options.count("class-objects", objects, {0, 1'000'000'000},
                "Objects of every lifetime-size-class; 0: many if small and short-lived");
  harness::declare_min_size(options, min_size, {8, largest_size});
  harness::declare_max_size(options, max_size, {8, largest_size});
  options.count("min-liveness", min_liveness, {1, most_liveness}, "Shortest time of use, in ticks");
  options.count("max-liveness", max_liveness, {1, most_liveness}, "Longest time of use, in ticks");
  options.count("deallocation-delay", deallocation_delay, {0, most_liveness},
                "Ticks from the last use of an object to its deallocation");
  options.size("time-quantum", time_quantum, {1, largest_size},
               "Bytes a thread allocates in a tick; in mode false-sharing, accesses in a tick");
  options.count("ticks", ticks, {1, most_ticks}, "Ticks each thread runs");
  options.count("max-time-drift", max_time_drift, {1, most_ticks},
                "Ticks the threads' clocks may differ; as --max-liveness unless given");
  options.percent("list-ratio", list_ratio, "Lifetime-size-classes that are lists; the others are trees");
  options.choice("list-order", list_order,
                 {{"allocation", list_order::allocation},
                  {"strided", list_order::strided},
                  {"random", list_order::random}},
                 "Order in which lists are accessed and freed");
  options.flag("access-live-objects", access_live_objects, "Whether live objects are accessed in each tick");
  options.percent("write-access-ratio", write_access_ratio, "Objects accessed that are written");
  options.count("write-iterations", write_iterations, {1, most_ticks}, "Times such an object is written");
  options.flag("shared-objects", shared_objects, "Whether threads share objects");
  options.percent("shared-objects-ratio", shared_objects_ratio, "Lifetime-size-classes that are shared");
  options.percent("receiving-threads-ratio", receiving_threads_ratio,
                  "Other threads that receive a shared lifetime-size-class");
  options.flag(
      "share-each-class", shares_each_class,
      "Whether a thread shares each lifetime-size-class when it is made, or all at the end of a tick");
  options.percent("permanent-objects-ratio", permanent_objects_ratio,
                  "Lifetime-size-classes that live to the end");
  options.choice("pseudo-allocator", pseudo_allocator,
                 {{"none", pseudo_allocator::none},
                  {"compact", pseudo_allocator::compact},
                  {"align", pseudo_allocator::align},
                  {"null", pseudo_allocator::null}},
                 "What stands between the mutator and malloc: a baseline");
  options.flag("historic", historic, "The draws and the accounting of the program of 2013");
  options.text("accounts", accounts, "File for the accounts by tick, liveness and size, - or fd:N");
}

void configuration::check(const harness::option_table& options) {
  if (mode == mode::false_sharing) settle_false_sharing(options);
  check_sizes();
  check_times(options);
  check_pseudo_allocator(options);
  if (historic) check_historic();
}

void configuration::check_sizes() const {
  if (min_size > max_size)
    throw usage_error("--min-size: " + harness::show_size(min_size) +
                      " is more than --max-size; allowed is 8 to " + harness::show_size(max_size));
}

void configuration::check_times(const harness::option_table& options) {
  if (min_liveness > max_liveness)
    throw usage_error("--min-liveness: " + std::to_string(min_liveness) +
                      " is more than --max-liveness; allowed is 1 to " + std::to_string(max_liveness));
  if (ticks <= warm_up())
    throw usage_error("--ticks: " + std::to_string(ticks) +
                      " is no longer than the warm-up of 2 x --max-liveness; allowed is " +
                      std::to_string(warm_up() + 1) + " or more");
  if (deallocation_delay > ticks)
    throw usage_error("--deallocation-delay: " + std::to_string(deallocation_delay) +
                      " is more than --ticks; allowed is 0 to " + std::to_string(ticks));
  if (!options.given("max-time-drift")) max_time_drift = max_liveness;
  if (max_time_drift > ticks)
    throw usage_error("--max-time-drift: " + std::to_string(max_time_drift) +
                      " is more than --ticks; allowed is 1 to " + std::to_string(ticks));
}

void configuration::check_pseudo_allocator(const harness::option_table& options) {
  if (pseudo_allocator != pseudo_allocator::null) return;
  if (mode == mode::false_sharing)
    throw usage_error(
        "--pseudo-allocator null has no objects to access; --mode false-sharing allows none, compact or "
        "align");
  if (options.given("access-live-objects") && access_live_objects)
    throw usage_error(
        "--pseudo-allocator null has no objects to access; it allows --no-access-live-objects only");
  if (list_order != list_order::allocation)
    throw usage_error("--list-order does not apply to --pseudo-allocator null, which has no objects to link");
  access_live_objects = false;
}

void configuration::check_historic() const {
  if (mode == mode::false_sharing) throw usage_error("--historic does not apply to --mode false-sharing");
  if (shared_objects || permanent_objects_ratio != 0)
    throw usage_error("--historic allows neither --shared-objects nor --permanent-objects-ratio");
  if (!is_power_of_two(min_size) || !is_power_of_two(max_size) || min_size == max_size)
    throw usage_error(
        "--historic allows powers of two for --min-size and --max-size, not equal to each other");
}

// Section 4.6 and Table 6: the objects live for one tick, and a tick is a number of accesses.
void configuration::settle_false_sharing(const harness::option_table& options) {
  for (const char* name :
       {"class-objects", "min-liveness", "max-liveness", "deallocation-delay", "max-time-drift", "list-ratio",
        "list-order", "access-live-objects", "write-access-ratio", "write-iterations", "shared-objects",
        "shared-objects-ratio", "receiving-threads-ratio", "share-each-class", "permanent-objects-ratio",
        "accounts"})
    if (options.given(name))
      throw usage_error("--" + std::string(name) + " does not apply to --mode false-sharing");
  max_liveness = 1;
  write_access_ratio = 100;
  shared_objects = true;
  if (!options.given("min-size"))
    min_size = options.given("max-size") ? std::min<std::uint64_t>(10, max_size) : 10;
  if (!options.given("max-size")) max_size = std::max<std::uint64_t>(10, min_size);
  if (!options.given("ticks")) ticks = 30;
  if (!options.given("time-quantum")) time_quantum = 1'000'000;
}

}  // namespace heaplab::acdc
