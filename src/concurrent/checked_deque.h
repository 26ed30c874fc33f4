#pragma once

#include "base/assertion.h"
#include "concurrent/sync.h"

namespace heaplab::concurrent {

template <class Sync, class Node>
class checked_deque;

// The part of a node that links the node into at most one deque at a time.
template <class Sync, class Node>
struct deque_hook {
  Node* newer = nullptr;
  Node* older = nullptr;
  checked_deque<Sync, Node>* in = nullptr;
};

// A doubly linked list of nodes with a member `hook`. Every node knows its deque, so that put and remove are
// checked and may be repeated: a thread that comes late changes nothing. Callers of all functions but
// looks_empty hold the lock that guards this deque and the hooks of its nodes.
template <class Sync, class Node>
class checked_deque {
public:
  // A hint, without the lock. relaxed: the caller looks again under the lock.
  bool looks_empty() const { return oldest_.load(std::memory_order_relaxed) == nullptr; }

  Node* oldest() const { return oldest_.load(std::memory_order_relaxed); }
  bool contains(const Node& node) const { return node.hook.in == this; }

  // False, and no change, if the node is in a deque already.
  bool put_newest(Node& node) {
    if (node.hook.in != nullptr) return false;
    node.hook = {nullptr, newest_, this};
    if (newest_ != nullptr) {
      newest_->hook.newer = &node;
    } else {
      oldest_.store(&node, std::memory_order_relaxed);
    }
    newest_ = &node;
    HEAPLAB_ASSERT(is_linked(node));
    return true;
  }

  // False, and no change, if the node is not in this deque.
  bool remove(Node& node) {
    if (!contains(node)) return false;
    HEAPLAB_ASSERT(is_linked(node));
    Node* const newer = node.hook.newer;
    Node* const older = node.hook.older;
    if (newer != nullptr) {
      newer->hook.older = older;
    } else {
      newest_ = older;
    }
    if (older != nullptr) {
      older->hook.newer = newer;
    } else {
      oldest_.store(newer, std::memory_order_relaxed);
    }
    node.hook = {};
    return true;
  }

  // Makes the deque empty and leaves the hooks of its nodes as they are.
  void forget_all() {
    newest_ = nullptr;
    oldest_.store(nullptr, std::memory_order_relaxed);
  }

  // Null when empty.
  Node* take_oldest() {
    Node* const node = oldest();
    if (node != nullptr) remove(*node);
    return node;
  }

  // Null when empty.
  Node* take_newest() {
    Node* const node = newest_;
    if (node != nullptr) remove(*node);
    return node;
  }

  // Whether every node in the deque names this deque, and neighbours link to each other. Walks the deque.
  bool is_valid() const {
    const Node* last = nullptr;
    for (const Node* node = oldest(); node != nullptr; node = node->hook.newer) {
      if (node->hook.older != last || !contains(*node)) return false;
      last = node;
    }
    return newest_ == last;
  }

private:
  // Whether both neighbours of a node in the deque, or the ends of the deque, link to the node.
  bool is_linked(const Node& node) const {
    const Node* const before = node.hook.newer == nullptr ? newest_ : node.hook.newer->hook.older;
    const Node* const behind = node.hook.older == nullptr ? oldest() : node.hook.older->hook.newer;
    return before == &node && behind == &node;
  }

  Node* newest_ = nullptr;
  typename Sync::template atomic<Node*> oldest_{nullptr};
};

}  // namespace heaplab::concurrent
