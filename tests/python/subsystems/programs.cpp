// Six subsystems whose answer is known: what local allocator pays, or what forbids it? A second argument,
// `local`, takes one: for parser and orders as advised, for pictures and sums although nothing is gained.
#include <array>
#include <cstdint>
#include <cstdio>
#include <list>
#include <memory_resource>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heaplab/local/local.h"

namespace {

std::uint64_t random_state = 1;
unsigned next_random() {
  random_state = random_state * 6364136223846793005U + 1442695040888963407U;
  return static_cast<unsigned>(random_state >> 33);
}

std::uint64_t result = 0;
#define PART __attribute__((noinline))

// --- parser: what a document is made of dies with it. Gains by a monotonic allocator. ---
using document = std::list<std::list<std::string>>;
using local_document = std::pmr::list<std::pmr::list<std::pmr::string>>;

template <class Document>
PART void parse_document(Document& into) {
  for (int i = 0; i < 30; ++i) {
    auto& chapter = into.emplace_back();
    for (int j = 0; j < 50; ++j) chapter.emplace_back("a paragraph that is too long to need no memory");
  }
  result += into.size();
}

// --- orders: small blocks that live for a while, without an end. Gains by a multipool. ---
template <class List>
PART void trade(List& book) {
  for (int i = 0; i < 3000; ++i) book.emplace_back();
  for (int i = 0; i < 2000; ++i) {
    for (int j = 0; j < 300; ++j) book.pop_front();
    for (int j = 0; j < 300; ++j) book.emplace_back()[0] = static_cast<char>(j);
  }
  result += book.size();
}
using order = std::array<char, 200>;

// --- names: a document keeps a name for ever. A survivor forbids a monotonic allocator. ---
std::vector<std::string*> interned;
PART void intern(int number) {
  if (number % 10 == 0)
    interned.push_back(new std::string("a name that is kept for ever: " + std::to_string(number)));
}
PART void read_names(int number) {
  std::list<std::string> names;
  for (int i = 0; i < 400; ++i) names.emplace_back("a name that is forgotten when the document ends");
  intern(number);
  result += names.size();
}

// --- pictures: few large buffers that replace each other. A local allocator loses. ---
template <class Bytes>
PART void show_pictures(typename Bytes::allocator_type from) {
  Bytes shown[4]{Bytes(from), Bytes(from), Bytes(from), Bytes(from)};
  for (int i = 0; i < 20000; ++i) {
    Bytes next(from);
    next.reserve(20000 + next_random() % 30000);
    next.push_back(static_cast<char>(i));
    result += next.capacity();
    shown[i % 4] = std::move(next);
  }
}

// --- messages: another thread frees them. ---
PART void send_messages() {
  std::vector<std::string*> sent;
  for (int i = 0; i < 50000; ++i)
    sent.push_back(new std::string("a message for the other thread, no: " + std::to_string(i)));
  std::thread([&] {
    for (const std::string* message : sent) delete message;
  }).join();
}

// --- sums: hardly any time is spent in allocation. ---
template <class List>
PART void add_up(typename List::allocator_type from) {
  for (int i = 0; i < 300; ++i) {
    List few(10, i, from);
    for (int j = 0; j < 1000000; ++j) result = result * 3 + few.front();
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const bool local = count > 2;
  if (what == "parser")
    for (int i = 0; i < 200; ++i) {
      if (local) {
        heaplab::local::monotonic_resource arena({.first_chunk = 1 << 18});
        parse_document(heaplab::local::make_winked<local_document>(arena));
      } else {
        document made;
        parse_document(made);
      }
    }
  if (what == "orders" && local) {
    heaplab::local::multipool_resource pools;
    std::pmr::list<order> book(&pools);
    trade(book);
  } else if (what == "orders") {
    std::list<order> book;
    trade(book);
  }
  if (what == "names")
    for (int i = 0; i < 400; ++i) read_names(i);
  if (what == "pictures" && local) {
    heaplab::local::multipool_resource pools;
    show_pictures<std::pmr::vector<char>>(&pools);
  } else if (what == "pictures") {
    show_pictures<std::vector<char>>({});
  }
  if (what == "messages") send_messages();
  if (what == "sums" && local) {
    heaplab::local::multipool_resource pools;
    add_up<std::pmr::list<int>>(&pools);
  } else if (what == "sums") {
    add_up<std::list<int>>({});
  }
  return std::printf("%llu\n", static_cast<unsigned long long>(result)) < 0;
}
