// Other orders of access than that of allocation: the links of a list are set anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "workloads/acdc/configuration.h"
#include "workloads/acdc/object_set.h"
#include "workloads/harness/random_stream.h"

namespace heaplab::acdc {

class relinker {
public:
  static constexpr std::size_t stride = 16;

  relinker(std::uint64_t key, harness::random_stream& draw) : key_(key), draw_(draw) {}

  // Every 16th object of the list, then those behind them, and so on. Returns the first.
  std::byte* strided(std::byte* object) {
    std::array<chain, stride> part;
    for (std::size_t i = 0; object != nullptr; ++i)
      append(part[i % stride], std::exchange(object, next(object)));
    chain all;
    for (const chain& each : part)
      if (each.first != nullptr) append(all, each);
    return finish(all);
  }

  // Every order is as likely: halves in random order are merged, each object as likely to come next.
  std::byte* shuffled(std::byte* object, std::uint64_t count) {
    if (count < 2) return object;
    std::uint64_t left = count / 2, right = count - left;
    std::byte* middle = object;
    for (std::uint64_t i = 0; i < left; ++i) middle = next(middle);
    std::byte* from_left = shuffled(object, left);
    std::byte* from_right = shuffled(middle, right);
    chain merged;
    while (left + right > 0) {
      const bool takes_left = draw_.below(left + right) < left;
      std::byte*& from = takes_left ? from_left : from_right;
      append(merged, std::exchange(from, next(from)));
      --(takes_left ? left : right);
    }
    return finish(merged);
  }

private:
  struct chain {
    std::byte* first = nullptr;
    std::byte* last = nullptr;
  };

  std::byte* next(const std::byte* object) const { return links::read(object, 0, key_); }
  void append(chain& to, std::byte* object) const { append(to, {object, object}); }
  void append(chain& to, const chain& more) const {
    if (to.first == nullptr) {
      to.first = more.first;
    } else {
      links::write(to.last, 0, more.first, key_);
    }
    to.last = more.last;
  }
  std::byte* finish(const chain& all) const {
    links::write(all.last, 0, nullptr, key_);
    return all.first;
  }

  std::uint64_t key_;
  harness::random_stream& draw_;
};

// The first object, which may be the block that has all of them, stays the first.
inline void reorder(object_set& set, list_order order, harness::random_stream& draw) {
  if (order == list_order::allocation || set.shape != structure::list || set.count < 3) return;
  std::byte* const rest = links::read(set.first, 0, set.key);
  relinker relink(set.key, draw);
  links::write(set.first, 0,
               order == list_order::strided ? relink.strided(rest) : relink.shuffled(rest, set.count - 1),
               set.key);
}

}  // namespace heaplab::acdc
