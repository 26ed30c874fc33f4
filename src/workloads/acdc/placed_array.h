#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "probes/off_heap_pages.h"

namespace heaplab::acdc {

// An array of objects with destructors, outside the heap under test. Each object is constructed by the thread
// that will use it.
template <class T>
class placed_array {
public:
  explicit placed_array(std::size_t count)
      : pages_(probes::off_heap_pages::needed<room>(count)), rooms_(pages_.array<room>(count)) {}
  ~placed_array() {
    for (room& space : rooms_)
      if (space.taken) (*this)[static_cast<std::size_t>(&space - rooms_.data())].~T();
  }
  placed_array(const placed_array&) = delete;
  placed_array& operator=(const placed_array&) = delete;

  template <class... Arguments>
  void make(std::size_t index, Arguments&&... arguments) {
    new (rooms_[index].bytes) T(std::forward<Arguments>(arguments)...);
    rooms_[index].taken = true;
  }

  std::size_t size() const { return rooms_.size(); }
  T& operator[](std::size_t index) { return *std::launder(reinterpret_cast<T*>(rooms_[index].bytes)); }

private:
  struct room {
    alignas(T) std::byte bytes[sizeof(T)];
    bool taken = false;
  };

  probes::off_heap_pages pages_;
  std::span<room> rooms_;
};

}  // namespace heaplab::acdc
