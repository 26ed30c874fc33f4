// The words of --strategy and their meaning.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/harness/option_table.h"
#include "workloads/harness/usage_error.h"
#include "workloads/local/strategy.h"

namespace heaplab::strategies {

namespace detail {

using enum binding;
using enum ending;

template <std::size_t Size>
struct fixed_word {
  char text[Size];
  consteval fixed_word(const char (&literal)[Size]) { std::copy_n(literal, Size, text); }
};

template <fixed_word Word, class Source, binding Bound, ending Ends>
struct entry {
  static constexpr std::string_view word = Word.text;
  using type = strategy<Source, Bound, Ends>;
};

template <class... Entries>
struct list {};

#ifndef HEAPLAB_WITH_BOOST
struct not_built {};
using boost_monotonic = not_built;
using boost_pool = not_built;
template <fixed_word Word, binding Bound, ending Ends>
struct entry<Word, not_built, Bound, Ends> {
  static constexpr std::string_view word = Word.text;
};
#endif

using over_monotonic = local::multipool_over_monotonic<>;
using synchronized = local::synchronized_multipool<>;
using synchronized_over_monotonic = local::multipool_over_monotonic<local::new_delete, std::mutex>;
// One pool for each doubling of the size, as in P0089.
inline constexpr local::pool_layout doubling{.steps_per_doubling = 1};
using doubling_pools = local::multipool<local::new_delete, local::no_lock, doubling>;
using doubling_over_monotonic = local::multipool_over_monotonic<local::new_delete, local::no_lock, doubling>;
using std_monotonic = std::pmr::monotonic_buffer_resource;
using std_pool = std::pmr::unsynchronized_pool_resource;

// Table 1 of P0089; then heaplab's further columns.
using table = list<entry<"AS1", local::new_delete, type_parameter, destroyed>,
                   entry<"AS2", local::new_delete, abstract_base, destroyed>,
                   entry<"AS3", local::monotonic<>, type_parameter, destroyed>,
                   entry<"AS4", local::monotonic<>, type_parameter, winked_out>,
                   entry<"AS5", local::monotonic<>, abstract_base, destroyed>,
                   entry<"AS6", local::monotonic<>, abstract_base, winked_out>,
                   entry<"AS7", local::multipool<>, type_parameter, destroyed>,
                   entry<"AS8", local::multipool<>, type_parameter, winked_out>,
                   entry<"AS9", local::multipool<>, abstract_base, destroyed>,
                   entry<"AS10", local::multipool<>, abstract_base, winked_out>,
                   entry<"AS11", over_monotonic, type_parameter, destroyed>,
                   entry<"AS12", over_monotonic, type_parameter, winked_out>,
                   entry<"AS13", over_monotonic, abstract_base, destroyed>,
                   entry<"AS14", over_monotonic, abstract_base, winked_out>,
                   entry<"AS7-synchronized", synchronized, type_parameter, destroyed>,
                   entry<"AS8-synchronized", synchronized, type_parameter, winked_out>,
                   entry<"AS9-synchronized", synchronized, abstract_base, destroyed>,
                   entry<"AS10-synchronized", synchronized, abstract_base, winked_out>,
                   entry<"AS11-synchronized", synchronized_over_monotonic, type_parameter, destroyed>,
                   entry<"AS12-synchronized", synchronized_over_monotonic, type_parameter, winked_out>,
                   entry<"AS13-synchronized", synchronized_over_monotonic, abstract_base, destroyed>,
                   entry<"AS14-synchronized", synchronized_over_monotonic, abstract_base, winked_out>,
                   entry<"AS7-doubling", doubling_pools, type_parameter, destroyed>,
                   entry<"AS11-doubling", doubling_over_monotonic, type_parameter, destroyed>,
                   entry<"pmr-monotonic", std_monotonic, abstract_base, destroyed>,
                   entry<"pmr-monotonic-wink", std_monotonic, abstract_base, winked_out>,
                   entry<"pmr-pool", std_pool, abstract_base, destroyed>,
                   entry<"pmr-pool-wink", std_pool, abstract_base, winked_out>,
                   entry<"pmr-pool-monotonic", std_pool_over_monotonic, abstract_base, destroyed>,
                   entry<"pmr-pool-monotonic-wink", std_pool_over_monotonic, abstract_base, winked_out>,
                   entry<"boost-monotonic", boost_monotonic, abstract_base, destroyed>,
                   entry<"boost-monotonic-wink", boost_monotonic, abstract_base, winked_out>,
                   entry<"boost-pool", boost_pool, abstract_base, destroyed>,
                   entry<"boost-pool-wink", boost_pool, abstract_base, winked_out>,
                   entry<"heap-arena", heap_arena, type_parameter, winked_out>>;

template <class Entry>
concept built = requires { typename Entry::type; };

template <class Entry, class Body>
void call(Body& body) {
  if constexpr (!built<Entry>) {
    throw harness::run_error(
        "--strategy " + std::string(Entry::word) +
        ": built without Boost.Container: install libboost-container-dev, then make build");
  } else {
    if constexpr (std::same_as<typename Entry::type::source_type, heap_arena>) heap_arena::expect_available();
    body.template operator()<typename Entry::type>();
  }
}

template <class... Entries, class Body>
void call_at(list<Entries...>, std::size_t place, Body& body) {
  constexpr std::array<void (*)(Body&), sizeof...(Entries)> calls{&call<Entries, Body>...};
  calls[place](body);
}

template <class... Entries>
std::vector<std::string> words(list<Entries...>) {
  return {std::string(Entries::word)...};
}

}  // namespace detail

// The option --strategy.
class chosen_strategy {
public:
  void declare(harness::option_table& options) {
    options.choice("strategy", place_, detail::words(detail::table()), "Allocator, binding and destruction");
  }

  std::string word() const { return detail::words(detail::table())[place_]; }

  // Calls body.operator()<Strategy>(). Throws run_error if this program or this process cannot provide the
  // strategy.
  template <class Body>
  void with(Body body) const {
    detail::call_at(detail::table(), place_, body);
  }

  bool takes_buffer() const {
    return holds([]<class Strategy>() { return Strategy::takes_buffer; });
  }

  // Whether blocks of `bytes` are not reused before the source ends.
  bool keeps_all(std::uint64_t bytes) const {
    return holds([bytes]<class Strategy>() { return Strategy::keeps_all(bytes); });
  }

  // Bytes of a source that serves a few small blocks: the object itself and its smallest request to upstream.
  std::uint64_t source_bytes() const {
    return ask(std::uint64_t{0}, []<class Strategy>() { return Strategy::least_bytes(); });
  }

  // Throws usage_error unless the strategy destroys.
  void expect_destruction(const char* because) const {
    if (holds([]<class Strategy>() { return Strategy::has_destroying_twin; }))
      throw harness::usage_error("--strategy: " + word() + " winks out, " + because);
  }

private:
  template <class Fact>
  bool holds(Fact fact) const {
    return ask(false, fact);
  }

  // A fact about the strategy, or `none` if the strategy is not available.
  template <class Answer, class Fact>
  Answer ask(Answer none, Fact fact) const {
    return ask_of(detail::table(), none, fact);
  }
  template <class... Entries, class Answer, class Fact>
  Answer ask_of(detail::list<Entries...>, Answer answer, Fact fact) const {
    std::size_t place = 0;
    const auto ask_one = [&]<class Entry>() {
      if constexpr (detail::built<Entry>)
        if (place == place_) answer = fact.template operator()<typename Entry::type>();
      ++place;
    };
    (ask_one.template operator()<Entries>(), ...);
    return answer;
  }

  std::size_t place_ = 0;
};

}  // namespace heaplab::strategies
