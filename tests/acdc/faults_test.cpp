// An allocator that breaks objects ends the run with one line and status 1.
#include <gtest/gtest.h>

#include <string>

#include "acdc/run_acdc.h"

namespace heaplab::acdc {
namespace {

// The libraries would not be first under the run-time library of a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool preload_works = false;
#else
constexpr bool preload_works = true;
#endif

void expect_caught(const std::string& library, const std::string& arguments, const std::string& line) {
  if (!preload_works) return;
  const auto failed = run_acdc(arguments + " 2>&1", "LD_PRELOAD=" + library);
  EXPECT_EQ(failed.status, 1) << library << " " << arguments;
  EXPECT_EQ(failed.output, "acdc: self-check failed: " + line + "\n") << library << " " << arguments;
}

const std::string one_size = "--min-size 208 --max-size 208 ";

TEST(faults, finds_a_block_given_out_twice) {
  expect_caught(FAULTY_TWICE, one_size + "--no-access-live-objects", "a block was given out twice");
  expect_caught(FAULTY_TWICE, one_size + "--access-live-objects", "a block was given out twice");
  expect_caught(FAULTY_TWICE, one_size + "--list-ratio 0", "a block was given out twice");
}

TEST(faults, finds_blocks_that_overlap) {
  for (const char* shape : {"--list-ratio 100", "--list-ratio 0", "--threads 2 --shared-objects"})
    expect_caught(FAULTY_OVERLAP, one_size + "--write-access-ratio 100 " + shape,
                  "an object was written by somebody else");
}

TEST(faults, finds_a_block_out_of_alignment) {
  for (const char* shape : {"--list-ratio 100", "--list-ratio 0", "--threads 3", "--pseudo-allocator compact",
                            "--pseudo-allocator align"})
    expect_caught(MISALIGNED, shape, "a block is not aligned");
}

TEST(faults, finds_a_shared_byte_in_mode_false_sharing) {
  expect_caught(FAULTY_TWICE,
                "--mode false-sharing --min-size 208 --threads 3 --ticks 200 --time-quantum 2000",
                "an object was written by somebody else");
}

}  // namespace
}  // namespace heaplab::acdc
