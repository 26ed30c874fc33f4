// Adapter for tests: a memory resource that tells whether another one, of std::pmr or heaplab::local, does
// its work.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <ostream>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>

#include "heaplab/local/monotonic.h"

namespace heaplab::local {

// What was asked of a resource, and what the resource asked of its upstream.
struct resource_use {
  std::size_t requests = 0;
  std::size_t live_bytes = 0;      // of blocks that were not deallocated
  std::size_t total_bytes = 0;     // of all blocks since the last release
  std::size_t most_bytes = 0;      // the largest total_bytes so far
  std::size_t rounds = 0;          // times since the last release that no block was left
  std::size_t round_bytes = 0;     // of all blocks of a round, at most
  std::size_t upstream_calls = 0;  // of allocate
  std::size_t upstream_bytes = 0;  // that the resource holds
  std::size_t threads = 0;
  std::size_t overlaps = 0;  // calls that began while another thread's call was going on
};

enum resource_fault : unsigned {
  outgrown = 1,        // the buffer was too small: upstream serves the rest
  never_released = 2,  // round after round the resource takes more memory, and gives none back
  passing_on = 4,      // most requests reach upstream: the resource is a detour
  shared = 8,          // calls of several threads overlapped
};

// Owns a Resource, made of the arguments and of an upstream that counts, above the default resource. Use the
// checked resource in place of the Resource, release() included, and read faults() or print() at the end.
// Calls by several threads are counted; nothing protects the Resource from them.
template <class Resource>
class checked final : public std::pmr::memory_resource {
public:
  template <class... Arguments>
  explicit checked(const Arguments&... arguments)
      : buffered_(has_buffer(arguments...)), resource_(made(arguments...)) {}

  checked(const checked&) = delete;
  checked& operator=(const checked&) = delete;

  void release() {
    resource_.release();
    const std::lock_guard guard(lock_);
    use_.live_bytes = use_.total_bytes = use_.rounds = in_round_ = 0;
  }

  Resource& resource() { return resource_; }

  resource_use use() const {
    const std::lock_guard guard(lock_);
    resource_use found = use_;
    found.threads = threads_.size();
    return found;
  }

  // Resource faults, added up; 0: none.
  unsigned faults() const { return faults_of(use()); }

  // A line for each fault.
  void print(std::ostream& to) const {
    const resource_use found = use();
    const unsigned all = faults_of(found);
    if (all & outgrown)
      to << "outgrown: " << found.most_bytes
         << " bytes were asked for before a release, and upstream was called " << found.upstream_calls
         << " times; give the buffer as many bytes\n";
    if (all & never_released)
      to << "never released: " << found.upstream_bytes << " bytes are held after " << found.rounds
         << " rounds of at most " << found.round_bytes << " bytes; call release() after each\n";
    if (all & passing_on)
      to << "passes on: " << found.upstream_calls << " of " << found.requests
         << " requests reached upstream; blocks are too large, or too few\n";
    if (all & shared)
      to << "shared: calls of " << found.threads << " threads overlapped " << found.overlaps
         << " times; give each thread its own resource, or take a synchronized one\n";
  }

private:
  static constexpr std::size_t few_calls = 16;   // of upstream, by which nothing is known yet
  static constexpr std::size_t most_rounds = 2;  // whose memory a resource may keep

  class counted_upstream final : public std::pmr::memory_resource {
  public:
    explicit counted_upstream(checked& owner) : owner_(owner) {}

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
      void* const block = upstream_->allocate(bytes, alignment);
      const std::lock_guard guard(owner_.lock_);
      ++owner_.use_.upstream_calls;
      owner_.use_.upstream_bytes += bytes;
      return block;
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
      upstream_->deallocate(block, bytes, alignment);
      const std::lock_guard guard(owner_.lock_);
      owner_.use_.upstream_bytes -= bytes;
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
      return this == &other;
    }

    checked& owner_;
    std::pmr::memory_resource* upstream_ = std::pmr::get_default_resource();
  };

  // While this object lives, its thread is in a call of the Resource.
  class call {
  public:
    explicit call(checked& owner) : owner_(owner) {
      const std::lock_guard guard(owner_.lock_);
      owner_.threads_.insert(std::this_thread::get_id());
      owner_.use_.overlaps += owner_.calls_++ != 0 ? 1 : 0;
    }
    ~call() {
      const std::lock_guard guard(owner_.lock_);
      --owner_.calls_;
    }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

  private:
    checked& owner_;
  };

  static bool has_buffer() { return false; }
  template <class First, class... Rest>
  static bool has_buffer(const First& first, const Rest&...) {
    if constexpr (std::same_as<First, monotonic_options>) {
      return !first.buffer.empty();
    } else {
      return std::is_pointer_v<First>;
    }
  }

  // std::pmr takes its upstream by a pointer, heaplab::local by a reference behind options.
  template <class... Arguments>
  Resource made(const Arguments&... arguments) {
    if constexpr (std::constructible_from<Resource, const Arguments&..., std::pmr::memory_resource*>) {
      return Resource(arguments..., &upstream_);
    } else if constexpr (sizeof...(Arguments) == 0) {
      return Resource({}, upstream_);
    } else {
      return Resource(arguments..., upstream_);
    }
  }

  unsigned faults_of(const resource_use& found) const {
    const bool passes = found.upstream_calls > few_calls && 2 * found.upstream_calls > found.requests;
    const bool keeps =
        found.rounds > most_rounds && found.upstream_bytes > 2 * most_rounds * found.round_bytes;
    return (buffered_ && found.upstream_calls != 0 ? outgrown : 0U) | (keeps ? never_released : 0U) |
           (passes ? passing_on : 0U) | (found.overlaps != 0 ? shared : 0U);
  }

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const call going_on(*this);
    void* const block = resource_.allocate(bytes, alignment);
    const std::lock_guard guard(lock_);
    ++use_.requests;
    use_.live_bytes += bytes;
    use_.total_bytes += bytes;
    in_round_ += bytes;
    use_.most_bytes = std::max(use_.most_bytes, use_.total_bytes);
    use_.round_bytes = std::max(use_.round_bytes, in_round_);
    return block;
  }

  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    const call going_on(*this);
    resource_.deallocate(block, bytes, alignment);
    const std::lock_guard guard(lock_);
    use_.live_bytes -= std::min(bytes, use_.live_bytes);
    if (use_.live_bytes != 0) return;
    ++use_.rounds;
    in_round_ = 0;
  }

  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  mutable std::mutex lock_;
  resource_use use_;
  std::size_t in_round_ = 0;  // bytes of all blocks since no block was left
  std::size_t calls_ = 0;     // that are going on
  std::set<std::thread::id> threads_;
  counted_upstream upstream_{*this};
  bool buffered_;
  Resource resource_;
};

}  // namespace heaplab::local
