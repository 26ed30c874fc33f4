#include "allocators/llheap/size_classes.h"

#include <gtest/gtest.h>

namespace heaplab::llheap {
namespace {

// The bucket is the smallest that holds the request.
void expect_best_bucket(std::size_t bytes) {
  const std::size_t bucket = bucket_of(bytes);
  ASSERT_LT(bucket, bucket_count) << bytes;
  ASSERT_GE(bucket_bytes(bucket), bytes);
  if (bucket > 0) {
    ASSERT_LT(bucket_bytes(bucket - 1), bytes);
  }
}

TEST(size_classes, every_small_request_gets_the_best_bucket) {
  for (std::size_t bytes = 0; bytes <= 300'000; ++bytes) expect_best_bucket(bytes);
}

TEST(size_classes, every_boundary_up_to_the_largest) {
  for (std::size_t bucket = 0; bucket < bucket_count; ++bucket) {
    expect_best_bucket(bucket_bytes(bucket));
    expect_best_bucket(bucket_bytes(bucket) - 1);
    if (bucket + 1 < bucket_count) expect_best_bucket(bucket_bytes(bucket) + 1);
  }
}

TEST(size_classes, blocks_are_aligned_and_idle_at_most_a_fifth) {
  for (std::size_t bucket = 1; bucket < bucket_count; ++bucket) {
    EXPECT_EQ(bucket_bytes(bucket) % 16, 0U);
    const std::size_t idle = bucket_bytes(bucket) - bucket_bytes(bucket - 1) - 1;
    if (bucket >= linear_buckets) {
      EXPECT_LE(5 * idle, bucket_bytes(bucket));
    }
  }
}

}  // namespace
}  // namespace heaplab::llheap
