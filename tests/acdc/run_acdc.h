#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/sample.h"

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

using heaplab::testing::metric;

}  // namespace heaplab::acdc
