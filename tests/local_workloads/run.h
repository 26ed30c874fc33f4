// The programs under test, and the strategies there are.
#pragma once

#include <string>

#include "support/command.h"

namespace heaplab::strategies {

inline constexpr const char* words[] = {"AS1",
                                        "AS2",
                                        "AS3",
                                        "AS4",
                                        "AS5",
                                        "AS6",
                                        "AS7",
                                        "AS8",
                                        "AS9",
                                        "AS10",
                                        "AS11",
                                        "AS12",
                                        "AS13",
                                        "AS14",
                                        "AS7-synchronized",
                                        "AS8-synchronized",
                                        "AS9-synchronized",
                                        "AS10-synchronized",
                                        "AS11-synchronized",
                                        "AS12-synchronized",
                                        "AS13-synchronized",
                                        "AS14-synchronized",
                                        "AS7-doubling",
                                        "AS11-doubling",
                                        "pmr-monotonic",
                                        "pmr-monotonic-wink",
                                        "pmr-pool",
                                        "pmr-pool-wink",
                                        "pmr-pool-monotonic",
                                        "pmr-pool-monotonic-wink",
                                        "boost-monotonic",
                                        "boost-monotonic-wink",
                                        "boost-pool",
                                        "boost-pool-wink"};

// Those that destroy what they made: all that Benchmarks II to IV know.
inline constexpr const char* destroying_words[] = {"AS1",
                                                   "AS2",
                                                   "AS3",
                                                   "AS5",
                                                   "AS7",
                                                   "AS9",
                                                   "AS11",
                                                   "AS13",
                                                   "AS7-synchronized",
                                                   "AS9-synchronized",
                                                   "AS11-synchronized",
                                                   "AS13-synchronized",
                                                   "AS7-doubling",
                                                   "AS11-doubling",
                                                   "pmr-monotonic",
                                                   "pmr-pool",
                                                   "pmr-pool-monotonic",
                                                   "boost-monotonic",
                                                   "boost-pool"};

// Both outputs of the program under this environment ("NAME=value", may be empty).
inline testing::outcome run(const std::string& command, const std::string& environment = "") {
  return testing::run_command(environment + " " + PROGRAMS + "/" + command + " 2>&1");
}

}  // namespace heaplab::strategies
