// Reads the JSON line of a workload, as far as tests need it.
#pragma once

#include <cstdlib>
#include <string>

#include "support/command.h"

namespace heaplab::testing {

// The value of a metric; -1 where it is absent.
inline double metric(const std::string& line, const std::string& name) {
  const std::string key = '"' + name + R"(":{"value":)";
  const std::size_t at = line.find(key);
  return at == std::string::npos ? -1 : std::strtod(line.c_str() + at + key.size(), nullptr);
}

inline double metric(const outcome& done, const std::string& name) {
  return metric(done.output, name);
}

}  // namespace heaplab::testing
