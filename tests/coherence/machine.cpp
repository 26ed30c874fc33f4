#include "coherence/machine.h"

#include <pthread.h>

#include <cstdlib>

#include "base/cache_line.h"

namespace heaplab::coherence {

counts& counts::operator+=(const counts& other) {
  operations += other.operations;
  transfers += other.transfers;
  write_transfers += other.write_transfers;
  far_transfers += other.far_transfers;
  atomic_changes += other.atomic_changes;
  return *this;
}

machine::machine() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) std::abort();
  if (pthread_attr_getstack(&attributes, &begin, &bytes) != 0) std::abort();
  pthread_attr_destroy(&attributes);
  stack_begin_ = reinterpret_cast<std::uintptr_t>(begin);
  stack_end_ = stack_begin_ + bytes;
}

void machine::begin(unsigned core) {
  seen_ = {};
  core_ = core;
  running_ = this;
}

counts machine::end() {
  running_ = nullptr;
  return seen_;
}

template <class Access>
void machine::for_each_line(const volatile void* address, std::size_t bytes, Access&& access) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if ((begin >= stack_begin_ && begin < stack_end_) || bytes == 0) return;
  for (std::uintptr_t line = begin / cache_line_bytes; line <= (begin + bytes - 1) / cache_line_bytes; ++line)
    access(line);
}

void machine::count(move of, bool is_write) {
  if (of == move::none) return;
  ++seen_.transfers;
  if (is_write) ++seen_.write_transfers;
  if (of == move::between_nodes) ++seen_.far_transfers;
}

void machine::read(const volatile void* address, std::size_t bytes) {
  for_each_line(address, bytes, [this](std::uintptr_t line) { count(directory_.read(core_, line), false); });
}

void machine::write(const volatile void* address, std::size_t bytes) {
  for_each_line(address, bytes, [this](std::uintptr_t line) { count(directory_.write(core_, line), true); });
}

void machine::change(const volatile void* address) {
  ++seen_.atomic_changes;
  write(address);
}

}  // namespace heaplab::coherence
