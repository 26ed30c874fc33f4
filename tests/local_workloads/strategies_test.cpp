// Every strategy makes the same structures, and ends them as its column says.
#include <gtest/gtest.h>

#include <set>

#include "local_workloads/run.h"
#include "workloads/local/buffer.h"
#include "workloads/local/growth.h"

namespace heaplab::strategies {
namespace {

using enum binding;
using enum ending;

// The default allocator is bound as if none were named; no other is empty.
static_assert(std::is_same_v<containers<local::new_delete>::vector<int>, std::vector<int>>);
static_assert(std::is_same_v<containers<std::pmr::memory_resource>::vector<int>, std::pmr::vector<int>>);

chosen_strategy choose(const std::string& word) {
  chosen_strategy chosen;
  harness::option_table table;
  chosen.declare(table);
  table.options().front().read(word);
  return chosen;
}

std::unique_ptr<grower> make(std::uint64_t structure, const growth_job& job) {
  if (structure <= 4) return make_flat(structure, job);
  return structure <= 8 ? make_vector_of(structure, job) : make_set_of(structure, job);
}

class strategies_test : public ::testing::TestWithParam<const char*> {};

// check() ends this program where it does not hold.
TEST_P(strategies_test, makes_every_structure) {
  const chosen_strategy chosen = choose(GetParam());
  const texts leaves(1);
  for (const std::size_t room : {0U, 1U << 10, 1U << 20}) {
    const buffer begin(room);
    const growth_job job{chosen, {.buffer = begin.bytes()}, 5, leaves};
    for (std::uint64_t structure = 1; structure <= 12; ++structure) {
      const std::unique_ptr<grower> made = make(structure, job);
      made->repeat(2);
      made->check();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, strategies_test, ::testing::ValuesIn(words), [](const auto& of) {
  std::string name = of.param;
  std::erase(name, '-');
  return name;
});

// A managed source that counts.
class watched : public local::monotonic<local::counting<>> {
public:
  static inline local::counting<> upstream{local::default_source<local::new_delete>()};
  static inline std::size_t allocations = 0;
  static inline std::size_t deallocations = 0;

  watched() : monotonic({}, upstream) { allocations = deallocations = 0; }

  void* allocate(std::size_t bytes, std::size_t alignment) {
    ++allocations;
    return monotonic::allocate(bytes, alignment);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    ++deallocations;
    monotonic::deallocate(block, bytes, alignment);
  }
};

template <class Handle>
using sets_of_texts = typename containers<Handle>::template set_of<typename containers<Handle>::text_set>;

// How many blocks of 5 sets of 128 texts are deallocated one by one, out of how many.
template <binding Bound, ending Ends>
std::pair<std::size_t, std::size_t> deallocated() {
  const chosen_strategy unused;
  const texts leaves(1);
  grower_of<strategy<watched, Bound, Ends>, sets_of_texts> made({unused, {}, 5, leaves});
  made.repeat(1);
  return {watched::deallocations, watched::allocations};
}

TEST(strategies, winking_out_runs_no_destructor) {
  const std::size_t wink_blocks = 1 + 1 + 5 * (1 + 1 + 128 * 2);
  const std::pair<std::size_t, std::size_t> all_left{0, wink_blocks};
  EXPECT_EQ((deallocated<type_parameter, winked_out>()), all_left);
  EXPECT_EQ((deallocated<abstract_base, winked_out>()), all_left);
}

TEST(strategies, winking_out_gives_the_memory_back) {
  deallocated<type_parameter, winked_out>();
  EXPECT_EQ(watched::upstream.counts().live_bytes, 0U);
  EXPECT_GT(watched::upstream.counts().total_bytes, 0U);
}

// The container itself lies elsewhere.
TEST(strategies, destruction_deallocates_every_block) {
  const std::size_t blocks = 1 + 5 * (1 + 1 + 128 * 2);
  const std::pair<std::size_t, std::size_t> all{blocks, blocks};
  EXPECT_EQ((deallocated<type_parameter, destroyed>()), all);
  EXPECT_EQ((deallocated<abstract_base, destroyed>()), all);
}

// An upstream without state that counts requests.
struct tallied : local::new_delete {
  static inline int requests = 0;
  void* allocate(std::size_t bytes, std::size_t alignment) {
    ++requests;
    return new_delete::allocate(bytes, alignment);
  }
};

template <class Source>
int requests_of(local::growth chunk_growth) {
  tallied::requests = 0;
  Source made = make_source<Source>({.first_chunk = 64, .chunk_growth = chunk_growth});
  for (int i = 0; i < 1000; ++i) (void)made.allocate(64, 8);
  return tallied::requests;
}

TEST(strategies, chunks_grow_as_the_options_say) {
  using local::growth;
  using over_monotonic = local::multipool_over_monotonic<tallied>;
  EXPECT_GT(requests_of<local::monotonic<tallied>>(growth::doubling),
            requests_of<local::monotonic<tallied>>(growth::geometric));
  EXPECT_LT(requests_of<local::multipool<tallied>>(growth::doubling),
            requests_of<local::multipool<tallied>>(growth::geometric));
  EXPECT_GT(requests_of<over_monotonic>(growth::doubling), requests_of<over_monotonic>(growth::geometric));
}

TEST(strategies, names_say_which_pools_are_synchronized_or_double) {
  const auto expect = []<class Source>(const char* word) {
    choose(word).with([&]<class Strategy>() {
      EXPECT_TRUE((std::is_same_v<typename Strategy::source_type, Source>)) << word;
    });
  };
  constexpr local::pool_layout doubling{.steps_per_doubling = 1};
  expect.operator()<local::synchronized_multipool<>>("AS7-synchronized");
  expect.operator()<local::multipool_over_monotonic<local::new_delete, std::mutex>>("AS12-synchronized");
  expect.operator()<local::resource<local::synchronized_multipool<>>>("AS10-synchronized");
  expect.operator()<local::multipool<local::new_delete, local::no_lock, doubling>>("AS7-doubling");
}

// A broken structure is found by its contents.
TEST(strategies, contents_differ_as_soon_as_one_leaf_does) {
  const texts leaves(1);
  using texts_in_vectors = std::vector<std::vector<std::string>>;
  texts_in_vectors made;
  fill(made, 3, leaves);
  contents found;
  read(made, 1, found);
  EXPECT_EQ(found, expected_contents<texts_in_vectors>(3, leaves));
  made[1][17].back() ^= 1;
  contents changed;
  read(made, 1, changed);
  EXPECT_NE(changed, found);
  EXPECT_EQ(changed.leaves, 3 * inner_count);
}

// What a broken heap may make of a set: its nodes go round in a circle.
struct circle {
  using hasher = void;

  struct iterator {
    int operator*() const { return 7; }
    iterator& operator++() { return *this; }
    bool operator==(const iterator& other) const { return is_end == other.is_end; }
    bool is_end = false;
  };

  std::size_t size() const { return 3; }
  iterator begin() const { return {}; }
  iterator end() const { return {true}; }
};

TEST(strategies, contents_of_a_circle_are_read_once) {
  contents found;
  read(circle(), 1, found);
  EXPECT_EQ(found.leaves, 3U);
  EXPECT_FALSE(found.counted);
}

TEST(strategies, texts_are_different_and_of_every_length) {
  const texts leaves(1);
  std::set<std::string_view> all;
  std::size_t shortest = 1000;
  std::size_t longest = 0;
  for (std::uint64_t i = 0; i < 65536; ++i) {
    all.insert(leaves[i]);
    shortest = std::min(shortest, leaves[i].size());
    longest = std::max(longest, leaves[i].size());
  }
  EXPECT_EQ(all.size(), 65536U);
  EXPECT_EQ(shortest, texts::least);
  EXPECT_EQ(longest, texts::most);
}

}  // namespace
}  // namespace heaplab::strategies
