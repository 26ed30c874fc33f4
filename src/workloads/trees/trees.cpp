// Each thread builds complete binary trees and takes them down again, beside one that stays. After GCBench
// (Ellis, Kovac and Boehm) and the binary trees of the Computer Language Benchmarks Game.

#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class trees final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"trees", "complete binary trees built and taken down, beside one that stays",
            "trees --threads 2 --depth 16 --rounds 10"};
  }

  void declare(harness::option_table& options) override {
    harness::declare_threads(options, threads_);
    harness::declare_rounds(options, rounds_, 10'000'000'000);
    options.count("depth", depth_, {0, 30}, "A tree has 2^(depth + 1) - 1 nodes");
    options.count("kept-depth", kept_depth_, {0, 30}, "Depth of the tree of each thread that stays");
    harness::declare_size(options, size_, std::uint64_t{1} << 20, sizeof(node) + sizeof(std::uint64_t));
  }

  void check(const harness::option_table&) override {
    harness::require_memory(threads_ * (nodes_of(depth_) + nodes_of(kept_depth_)) * size_,
                            "--size of all nodes of --depth and --kept-depth in all --threads");
  }

  harness::size_mix sizes() const override { return {size_, size_}; }

  void run(harness::measurement& measured) override {
    run_team(measured);
    const std::uint64_t nodes = nodes_of(kept_depth_) + rounds_ * nodes_of(depth_);
    measured.add_metric("pairs", static_cast<double>(threads_ * nodes), "1");
  }

private:
  // A node begins with a stamp, which is checked before its children are followed, and ends with one.
  struct node {
    std::uint64_t stamp;
    node *left, *right;
  };

  static std::uint64_t nodes_of(std::uint64_t depth) { return (std::uint64_t{2} << depth) - 1; }

  void run(unsigned thread) override {
    measured_->with_heap(thread, [&](auto& heap) {
      node* const kept = build(heap, kept_depth_, 1);
      for (std::uint64_t round = 0; round < rounds_; ++round) take_down(heap, build(heap, depth_, 1), 1);
      take_down(heap, kept, 1);
    });
  }

  // Nodes are numbered from the root, which is 1: the children of n are 2n and 2n + 1.
  template <class Heap>
  node* build(Heap& heap, std::uint64_t depth, std::uint64_t number) {
    auto* const root =
        static_cast<node*>(harness::allocate_stamped(heap, size_, harness::stamp_of(number)).start);
    root->left = depth == 0 ? nullptr : build(heap, depth - 1, 2 * number);
    root->right = depth == 0 ? nullptr : build(heap, depth - 1, 2 * number + 1);
    return root;
  }

  template <class Heap>
  void take_down(Heap& heap, node* root, std::uint64_t number) {
    harness::expect_stamp({root, size_}, harness::stamp_of(number));
    if (root->left != nullptr) take_down(heap, root->left, 2 * number);
    if (root->right != nullptr) take_down(heap, root->right, 2 * number + 1);
    heap.release(root);
  }

  std::uint64_t rounds_ = 100;
  std::uint64_t depth_ = 16;
  std::uint64_t kept_depth_ = 16;
  std::uint64_t size_ = 64;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<trees>(argc, argv);
}
