// operator new and operator delete: C++20 [new.delete].
#include <new>

#include "check/contract/api.h"

namespace contract {
namespace {

constexpr std::size_t impossible = PTRDIFF_MAX;
constexpr auto wide = std::align_val_t{256};

class new_test : public testing::Test {
protected:
  ~new_test() override { std::set_new_handler(nullptr); }
};

int handler_calls = 0;

void give_up_after_three_calls() {
  if (++handler_calls == 3) std::set_new_handler(nullptr);
}

struct handler_failure : std::bad_alloc {};

void throwing_handler() {
  throw handler_failure();
}

template <class Operation>
bool throws_bad_alloc(Operation operation) {
  try {
    operation();
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

TEST_F(new_test, aligns_and_holds_contents_at_every_size) {
  for (const std::size_t size : sizes) {
    void* const memory = ::operator new(opaque(size));
    void* const array = ::operator new[](opaque(size));
    void* const aligned_one = ::operator new(opaque(size), wide);
    EXPECT_NE(memory, array);
    EXPECT_TRUE(aligned_for_its_size(memory, size));
    EXPECT_TRUE(aligned_for_its_size(array, size));
    EXPECT_TRUE(aligned(aligned_one, 256)) << size;
    fill(memory, size, 1);
    fill(array, size, 2);
    fill(aligned_one, size, 3);
    EXPECT_TRUE(holds(memory, size, 1) && holds(array, size, 2) && holds(aligned_one, size, 3)) << size;
    ::operator delete(memory, size);
    ::operator delete[](array);
    ::operator delete(aligned_one, size, wide);
  }
}

TEST_F(new_test, every_form_has_its_delete) {
  for (const std::size_t size : {1U, 100U, 5000U, 100000U, 2U << 20}) {
    ::operator delete(::operator new(size));
    ::operator delete(::operator new(size), size);
    ::operator delete(::operator new(size, std::nothrow), std::nothrow);
    ::operator delete(::operator new(size, wide), wide);
    ::operator delete(::operator new(size, wide), size, wide);
    ::operator delete(::operator new(size, wide, std::nothrow), wide, std::nothrow);
    ::operator delete[](::operator new[](size));
    ::operator delete[](::operator new[](size), size);
    ::operator delete[](::operator new[](size, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](size, wide), wide);
    ::operator delete[](::operator new[](size, wide), size, wide);
    ::operator delete[](::operator new[](size, wide, std::nothrow), wide, std::nothrow);
  }
  ::operator delete(opaque<void*>(nullptr));
  ::operator delete[](opaque<void*>(nullptr), wide);
}

TEST_F(new_test, of_zero_gives_a_block_of_its_own) {
  void* const memory = ::operator new(opaque(std::size_t{0}));
  void* const other = ::operator new(opaque(std::size_t{0}));
  EXPECT_NE(memory, nullptr);
  EXPECT_NE(memory, other);
  ::operator delete(memory);
  ::operator delete(other);
}

TEST_F(new_test, of_too_much_throws_bad_alloc) {
  for (const std::size_t size : too_large) {
    EXPECT_TRUE(throws_bad_alloc([&] { ::operator delete(::operator new(opaque(size))); })) << size;
    EXPECT_TRUE(throws_bad_alloc([&] { ::operator delete[](::operator new[](opaque(size))); })) << size;
    EXPECT_TRUE(throws_bad_alloc([&] { ::operator delete(::operator new(opaque(size), wide), wide); }))
        << size;
    EXPECT_TRUE(throws_bad_alloc([&] { ::operator delete[](::operator new[](opaque(size), wide), wide); }))
        << size;
  }
}

TEST_F(new_test, nothrow_of_too_much_gives_null) {
  for (const std::size_t size : too_large) {
    EXPECT_EQ(::operator new(opaque(size), std::nothrow), nullptr) << size;
    EXPECT_EQ(::operator new[](opaque(size), std::nothrow), nullptr) << size;
    EXPECT_EQ(::operator new(opaque(size), wide, std::nothrow), nullptr) << size;
    EXPECT_EQ(::operator new[](opaque(size), wide, std::nothrow), nullptr) << size;
  }
}

TEST_F(new_test, asks_the_new_handler_until_there_is_none) {
  const auto expect_three_calls = [](auto operation) {
    handler_calls = 0;
    std::set_new_handler(give_up_after_three_calls);
    EXPECT_TRUE(throws_bad_alloc(operation));
    EXPECT_EQ(handler_calls, 3);
  };
  expect_three_calls([] { ::operator delete(::operator new(opaque(impossible))); });
  expect_three_calls([] { ::operator delete[](::operator new[](opaque(impossible))); });
  expect_three_calls([] { ::operator delete(::operator new(opaque(impossible), wide), wide); });
}

TEST_F(new_test, nothrow_asks_the_new_handler_until_there_is_none) {
  handler_calls = 0;
  std::set_new_handler(give_up_after_three_calls);
  EXPECT_EQ(::operator new(opaque(impossible), std::nothrow), nullptr);
  EXPECT_EQ(handler_calls, 3);
  handler_calls = 0;
  std::set_new_handler(give_up_after_three_calls);
  EXPECT_EQ(::operator new(opaque(impossible), wide, std::nothrow), nullptr);
  EXPECT_EQ(handler_calls, 3);
}

TEST_F(new_test, lets_the_new_handler_throw) {
  std::set_new_handler(throwing_handler);
  EXPECT_THROW(::operator delete(::operator new(opaque(impossible))), handler_failure);
  EXPECT_THROW(::operator delete(::operator new(opaque(impossible), wide), wide), handler_failure);
}

TEST_F(new_test, nothrow_turns_a_throwing_new_handler_into_null) {
  std::set_new_handler(throwing_handler);
  EXPECT_EQ(::operator new(opaque(impossible), std::nothrow), nullptr);
  EXPECT_EQ(::operator new[](opaque(impossible), std::nothrow), nullptr);
  EXPECT_EQ(::operator new(opaque(impossible), wide, std::nothrow), nullptr);
}

}  // namespace
}  // namespace contract
