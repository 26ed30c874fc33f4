#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/command.h"

namespace heaplab::acdc {

inline heaplab::testing::outcome run_acdc(const std::string& arguments, const std::string& environment = "") {
  return heaplab::testing::run_command(environment + " " ACDC " " + arguments);
}

// The JSON line of a run that must succeed.
inline std::string sample_of(const std::string& arguments) {
  const heaplab::testing::outcome done = run_acdc(arguments + " --json - 2>&1");
  EXPECT_EQ(done.status, 0) << arguments << "\n" << done.output;
  return done.output;
}

// A metric in such a line; -1 where it is absent.
inline double metric(const std::string& sample, const std::string& name) {
  const std::string key = "\"" + name + "\":{\"value\":";
  const std::size_t at = sample.find(key);
  return at == std::string::npos ? -1 : std::strtod(sample.c_str() + at + key.size(), nullptr);
}

}  // namespace heaplab::acdc
