// One process of a trace that is made of what another program recorded or made up: stamps ascend.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/file/event_rules.h"
#include "trace/file/properties.h"
#include "trace/file/trace_writer.h"
#include "trace/file/verifier.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

class imported_process {
public:
  imported_process(trace_writer& to, const properties& of) : to_(to) {
    to_.begin_process(of);
    add(kind::thread_begin, 0, 0, 0);
  }

  // The next event is not before `stamp`, in ticks.
  void reach(std::uint64_t stamp) { stamp_ = stamp > stamp_ ? stamp : stamp_; }

  // False: no event of a trace can be so (event_rules.h).
  bool add(kind what, std::uint64_t address, std::uint64_t size, std::uint32_t site) {
    return add({.address = address, .size = size, .thread = 1, .site = site, .kind = what});
  }

  // The same of any thread; the stamp is that which was reached.
  bool add(event e) {
    e.stamp = stamp_;
    if (!rules_.may_follow(e, sites_)) return false;
    rules_.see(e);
    order_.see(e);
    to_.add(e);
    ++stamp_;
    return true;
  }

  std::uint32_t add_site(std::span<const std::uint64_t> frames) {
    ++sites_;
    return to_.add_site(frames);
  }

  void add_module(std::string_view line) { modules_ += line; }

  // `name` may hold no line end.
  void add_name(std::uint64_t address, std::string_view name);

  // The process ends; `skipped` lines of its text were not understood.
  void end(std::uint64_t skipped);

  const verdict& counts() const { return order_.counts(); }

private:
  trace_writer& to_;
  event_rules rules_;
  verifier order_{true};  // the recording may begin at any time of the program's life
  std::uint64_t stamp_ = 0;
  std::uint32_t sites_ = 0;
  std::string modules_;
  std::string names_;
};

}  // namespace heaplab::trace
