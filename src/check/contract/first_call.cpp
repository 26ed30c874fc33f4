// The first call of a thread may be any function: the heap of a thread begins with whichever comes first.
#include <thread>
#include <utility>

#include "check/contract/requests.h"

namespace contract {
namespace {

constexpr std::size_t first_sizes[] = {1, 40, 5000, 100'000, std::size_t{3} << 20};

// The thread goes on after its first call, so that a heap that began halfway shows.
bool lives_on() {
  bool intact = true;
  for (const std::size_t size : first_sizes) {
    const block plain(std::malloc(size)), zeroed(std::calloc(1, size));
    if (plain == nullptr || zeroed == nullptr) return false;
    fill(plain.get(), size, 5);
    intact = intact && is_zero(zeroed.get(), size) && holds(plain.get(), size, 5);
  }
  return intact;
}

// Whether call() and the rest of a thread that begins with it went well.
template <class Call>
bool goes_well_in_a_new_thread(Call call) {
  bool result = false;
  std::thread([&] { result = call() && lives_on(); }).join();
  return result;
}

TEST(first_call, of_a_thread_may_ask_for_a_block) {
  for_each_request([](const request& way) {
    for (const std::size_t size : first_sizes) {
      void* given = nullptr;
      EXPECT_TRUE(goes_well_in_a_new_thread([&] {
        given = way.perform(size);
        return given != nullptr && (fill(given, size, 3), true);
      })) << way.name
          << " of " << size;
      EXPECT_TRUE(given != nullptr && holds(given, size, 3)) << way.name << " of " << size;
      std::free(given);
    }
  });
}

struct handover {
  const char* name;
  const char* optional;  // as in is_served
  // Leaves in `one` what is to be freed afterwards.
  void (*perform)(void*& memory, std::size_t size);
};

void resize(void*& memory, std::size_t size) {
  if (void* const moved = std::realloc(opaque(memory), size)) memory = moved;
}

constexpr handover handovers[] = {
    {"free", nullptr, [](void*& memory, std::size_t) { std::free(std::exchange(memory, nullptr)); }},
    {"free of null", nullptr, [](void*&, std::size_t) { std::free(opaque<void*>(nullptr)); }},
    {"free_sized", "free_sized",
     [](void*& memory, std::size_t size) {
       reinterpret_cast<free_sized_function*>(dlsym(RTLD_DEFAULT, "free_sized"))(
           std::exchange(memory, nullptr), size);
     }},
    {"realloc to more", nullptr, [](void*& memory, std::size_t size) { resize(memory, 2 * size + 100); }},
    {"realloc to less", nullptr, [](void*& memory, std::size_t size) { resize(memory, size / 3 + 1); }},
    {"malloc_usable_size", "malloc_usable_size",
     [](void*& memory, std::size_t) { opaque(malloc_usable_size(memory)); }},
    {"malloc_trim", "malloc_trim", [](void*&, std::size_t) { malloc_trim(0); }},
};

TEST(first_call, of_a_thread_may_take_the_block_of_another) {
  for (const handover& use : handovers) {
    if (!is_served(use.optional)) continue;
    for (const std::size_t size : first_sizes) {
      void* given = std::malloc(size);
      ASSERT_NE(given, nullptr);
      fill(given, size, 4);
      const auto call = [&] { return use.perform(given, size), true; };
      EXPECT_TRUE(goes_well_in_a_new_thread(call)) << use.name << " of " << size;
      EXPECT_TRUE(given == nullptr || holds(given, size / 3 + 1, 4)) << use.name << " of " << size;
      std::free(given);
    }
  }
}

}  // namespace
}  // namespace contract
