// main of the GoogleTest programs. GoogleTest's own report is replaced by one that writes only failures,
// because the less the test program allocates, the more a test of a broken library can tell.
#include <gtest/gtest.h>

#include <cstdio>

#include "check/ending.h"
#include "check/served.h"

namespace {

using heaplab::check::absent_functions;

class terse_report : public testing::EmptyTestEventListener {
public:
  void OnTestPartResult(const testing::TestPartResult& part) override {
    constexpr unsigned most = 5;
    if (part.passed() || (part.skipped() && !absent_functions.empty()) || ++told_ > most) return;
    if (part.line_number() > 0) std::fprintf(stderr, "%s:%d: ", part.file_name(), part.line_number());
    std::fprintf(stderr, "%s\n", part.message());
  }
  void OnTestStart(const testing::TestInfo&) override { told_ = 0; }
  void OnTestEnd(const testing::TestInfo& test) override {
    ran_ = true;
    if (!test.result()->Skipped()) all_skipped_ = false;
    if (test.result()->Failed()) std::fprintf(stderr, "failed: %s.%s\n", test.test_suite_name(), test.name());
  }
  bool only_skipped() const { return ran_ && all_skipped_; }

private:
  unsigned told_ = 0;  // failures of the current test so far
  bool ran_ = false, all_skipped_ = true;
};

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  static terse_report report;
  listeners.Append(&report);
  const int status = RUN_ALL_TESTS();
  listeners.Release(&report);
  if (status != 0 || !report.only_skipped()) return status;
  if (absent_functions.empty()) return heaplab::check::skipped;
  std::fprintf(stderr, "%s\n", absent_functions.c_str());
  return heaplab::check::absent;
}
