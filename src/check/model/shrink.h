// Shortens and simplifies a sequence that finds a fault as far as possible.
#pragma once

#include <algorithm>

#include "base/assertion.h"
#include "check/model/operation.h"
#include "check/model/replay.h"

namespace heaplab::check {

struct sequence {
  operation operations[longest_sequence];
  unsigned length = 0;

  std::span<const operation> all() const { return {operations, length}; }
};

inline sequence without(const sequence& from, unsigned first, unsigned count) {
  HEAPLAB_ASSERT(first + count <= from.length);
  sequence rest;
  rest.length = from.length - count;
  std::copy_n(from.operations, first, rest.operations);
  std::copy(from.operations + first + count, from.operations + from.length, rest.operations + first);
  return rest;
}

// Runs `changed`, and keeps that sequence if it still finds a fault.
inline bool keep_if_failing(sequence& current, const sequence& changed, fault_text& text) {
  if (holds(changed.all(), text)) return false;
  current = changed;
  return true;
}

// Removes smaller and smaller parts.
inline bool shorten(sequence& current, fault_text& text) {
  const unsigned before = current.length;
  for (unsigned part = current.length / 2; part > 0; part /= 2)
    for (unsigned first = 0; first + part <= current.length;)
      if (!keep_if_failing(current, without(current, first, part), text)) first += part;
  return current.length < before;
}

// Halves sizes and alignments and moves calls to the main thread.
inline void simplify(sequence& current, fault_text& text) {
  for (unsigned i = 0; i < current.length; ++i) {
    const auto attempt = [&](auto change) {
      sequence changed = current;
      change(changed.operations[i]);
      return keep_if_failing(current, changed, text);
    };
    if (current.operations[i].thread != 0) attempt([](operation& step) { step.thread = 0; });
    while (current.operations[i].size > 0 && attempt([](operation& step) { step.size /= 2; })) {
    }
    while (current.operations[i].alignment > 16 && attempt([](operation& step) { step.alignment /= 2; })) {
    }
  }
}

inline void shrink(sequence& failing, fault_text& text) {
  while (shorten(failing, text)) {
  }
  simplify(failing, text);
  // The last attempt may have found no fault and cleared the text: this run writes the text of the fault
  // again.
  holds(failing.all(), text);
}

}  // namespace heaplab::check
