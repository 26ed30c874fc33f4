#include "recorded/compiler.h"

#include <algorithm>
#include <utility>

#include "base/assertion.h"
#include "recorded/file_error.h"

namespace heaplab::recorded {

namespace {

using trace::kind;

// A time precedes an operation if the thread's time has advanced by at least this much since the thread's
// last one.
constexpr std::uint64_t time_grain_us = 10;

// An epoch ends when this much has been allocated. The amount is small compared with the live bytes, and with
// what a small program needs without its heap. So a replay whose threads meet at each epoch has the program's
// peak; to be fast, threads may be some epochs apart.
constexpr std::uint64_t least_epoch_bytes = std::uint64_t{1} << 17;
constexpr std::uint64_t live_share_of_epoch = 64;
// An epoch also needs a number of operations: a share of the operations so far, so that short recordings have
// epochs too.
constexpr std::uint64_t least_epoch_operations = 256;
constexpr std::uint64_t most_epoch_operations = 4096;
constexpr std::uint64_t done_share_of_epoch = 64;

constexpr std::uint64_t most_slots = std::uint64_t{1} << 32;

bool is_new(kind of) {
  return of >= kind::new_object && of <= kind::new_array_nothrow;
}

action acquiring(const trace::event& next) {
  switch (next.kind) {
    case kind::calloc:
      return action::allocate_zeroed;
    case kind::posix_memalign:
    case kind::aligned_alloc:
    case kind::memalign:
    case kind::valloc:
    case kind::pvalloc:
      return action::allocate_aligned;
    default:
      if (!is_new(next.kind)) return action::allocate;
      return next.alignment_log2 != 0 ? action::create_aligned : action::create;
  }
}

action releasing(const trace::event& next) {
  switch (next.kind) {
    case kind::delete_object:
    case kind::delete_array:
      return next.alignment_log2 != 0 ? action::destroy_aligned : action::destroy;
    case kind::delete_object_sized:
    case kind::delete_array_sized:
      return next.alignment_log2 != 0 ? action::destroy_aligned : action::destroy_sized;
    default:
      return action::release;
  }
}

// The action that frees a block that the program never freed.
action natural_release(const trace::event& made) {
  if (!is_new(made.kind)) return action::release;
  return made.alignment_log2 != 0 ? action::destroy_aligned : action::destroy;
}

// valloc and pvalloc align to a page, although their event has no alignment.
std::uint8_t alignment_of(const trace::event& next) {
  constexpr std::uint8_t page = 12;
  const bool paged = next.kind == kind::valloc || next.kind == kind::pvalloc;
  return paged ? std::max(next.alignment_log2, page) : next.alignment_log2;
}

}  // namespace

compiler::compiler(std::string path, std::uint32_t main, double ticks_per_second,
                   std::unordered_set<std::uint32_t> apart)
    : writer_(std::move(path)),
      threads_(writer_, main),
      ticks_per_microsecond_(ticks_per_second / 1e6),
      apart_(std::move(apart)) {}

void compiler::living(const trace::event& found) {
  HEAPLAB_ASSERT(!begun_ && trace::is_acquisition(found.kind) && found.address != 0);
  make_room(prologue, found.address);
  allocate(prologue, found);
}

void compiler::add(const trace::event& next) {
  if (!std::exchange(begun_, true)) first_stamp_ = last_stamp_ = next.stamp;
  HEAPLAB_ASSERT(trace::is_known(next.kind) && next.thread != 0 && next.stamp >= last_stamp_);
  last_stamp_ = next.stamp;
  if (!trace::is_acquisition(next.kind) && !trace::is_release(next.kind)) return change_threads(next);
  const std::uint32_t stream = threads_.of(next.thread);
  if (!trace::is_growth(next.kind)) end_realloc(next.thread);
  keep_time(stream, next.stamp);
  if (trace::is_release(next.kind)) {
    release(stream, next);
  } else if (trace::is_growth(next.kind)) {
    grow(stream, next);
  } else {
    acquire(stream, next);
  }
  if (epoch_is_due()) pass_epoch();
  if (wanted_) list_wanted_survivors();
}

void compiler::list_survivors(occasion why) {
  wanted_ = std::max(why, wanted_.value_or(why));
  list_wanted_survivors();
}

void compiler::rest_until(std::uint64_t stamp) {
  if (!begun_) return;
  last_stamp_ = std::max(last_stamp_, stamp);
  for (const std::uint32_t stream : threads_.alive()) keep_time(stream, last_stamp_);
}

// A block between the halves of a reallocation is in no slot that a census could look at.
void compiler::list_wanted_survivors() {
  if (!open_reallocs_.empty()) return;
  std::vector<survivor>& all = writer_.survivors();
  writer_.add_census({writer_.epochs(), *wanted_, all.size(), live_.size()});
  pass_epoch();
  for (auto& [address, block] : live_) {
    const std::uint64_t since = std::max(block.acquired, first_stamp_);  // of blocks that lived before, too
    all.push_back({block.bytes, microseconds(last_stamp_) - microseconds(since), block.slot, block.site,
                   block.is_apart() ? std::uint64_t{1} : 0});
    same_block_.push_back(std::exchange(block.listed, all.size()));
  }
  wanted_.reset();
}

// The block's slot has changed, so that it stands in another slot also at the censuses that were before.
void compiler::move_survivors(const live_block& block) {
  for (std::size_t number = block.listed; number != 0; number = same_block_[number - 1])
    writer_.survivors()[number - 1].slot = block.slot;
}

header compiler::finish(std::uint64_t lost) {
  while (!open_reallocs_.empty()) end_realloc(open_reallocs_.begin()->first);
  if (wanted_) list_wanted_survivors();
  pass_epoch();
  threads_.end_all();
  for (const auto& [address, block] : live_) {
    const operation plain = operation(block.released_by, block.slot);
    writer_.add(epilogue, with_size(plain, block.bytes, block.alignment_log2));
  }
  if (unused_slots_ > most_slots) throw file_error("more than 4,294,967,296 blocks pass between threads");
  head_.lost_events += lost;
  head_.slots = unused_slots_;
  head_.duration_us = microseconds(last_stamp_);
  return writer_.finish(head_);
}

void compiler::acquire(std::uint32_t stream, const trace::event& next) {
  if (next.address == 0) {
    ++head_.failed_calls;
    return;
  }
  ++head_.allocations;
  make_room(stream, next.address);
  allocate(stream, next);
}

void compiler::allocate(std::uint32_t stream, const trace::event& next) {
  if (apart_.contains(next.site))
    return allocate(stream, next, action::allocate_apart, action::release_apart);
  allocate(stream, next, acquiring(next), natural_release(next));
}

void compiler::allocate(std::uint32_t stream, const trace::event& next, action how, action released_by) {
  const std::uint32_t owner = stream == prologue ? main_thread : stream;
  const std::uint32_t slot = threads_.slots_of(owner).take(unused_slots_);
  const std::uint8_t alignment = alignment_of(next);
  const operation made = with_size(operation(how, slot), next.size, alignment);
  live_[next.address] = {.filled_by = emit(stream, made),
                         .bytes = next.size,
                         .slot = slot,
                         .stream = owner,
                         .site = next.site,
                         .acquired = next.stamp,
                         .released_by = released_by,
                         .alignment_log2 = alignment};
  count_live(1, next.size, 0);
}

// The second half of a realloc. If the first half is missing, the event is a malloc; if the result is null,
// the old block stays.
void compiler::grow(std::uint32_t stream, const trace::event& next) {
  const auto found = open_reallocs_.find(next.thread);
  if (found == open_reallocs_.end()) return acquire(stream, next);
  const pending old = found->second;
  open_reallocs_.erase(found);
  if (next.address == 0) {
    ++head_.failed_calls;
    live_[old.from.address] = old.taken.block;
    return;
  }
  ++head_.reallocations;
  make_room(stream, next.address);
  if (old.taken.block.is_apart() || apart_.contains(next.site)) return grow_apart(stream, next, old.taken);
  const operation from = with_size(operation(action::reallocate, old.taken.block.slot), next.size, 0);
  emit(stream, old.taken.remote ? from.from_other_thread() : from);
  slot_numbers& slots = threads_.slots_of(stream);
  if (!old.taken.remote) slots.release(old.taken.block.slot);
  const std::uint32_t slot = slots.take(unused_slots_);
  const operation place = with_size(operation(action::place, slot), old.taken.block.bytes, 0);
  live_[next.address] = {.filled_by = emit(stream, place),
                         .bytes = next.size,
                         .slot = slot,
                         .stream = stream,
                         .site = next.site,
                         .acquired = next.stamp};
  count_live(0, next.size, old.taken.block.bytes);
}

// A reallocation into the heap of its own, or in it: a block is allocated there, and the old one freed. A
// block that is there stays there, whoever reallocates it.
void compiler::grow_apart(std::uint32_t stream, const trace::event& next, const taken_block& old) {
  allocate(stream, next, action::allocate_apart, action::release_apart);
  release_block(stream, old, action::release);
}

void compiler::release(std::uint32_t stream, const trace::event& next) {
  if (!live_.contains(next.address)) {
    if (next.address != 0) ++head_.unknown_releases;
    return;
  }
  const taken_block taken = take(stream, next.address);
  if (next.kind == kind::realloc_from || next.kind == kind::reallocarray_from) {
    open_reallocs_[next.thread] = {taken, next};
  } else {
    release_taken(stream, taken, releasing(next));
  }
}

void compiler::release_taken(std::uint32_t stream, const taken_block& taken, action how) {
  ++head_.releases;
  release_block(stream, taken, how);
}

void compiler::release_block(std::uint32_t stream, const taken_block& taken, action how) {
  const live_block& block = taken.block;
  if (block.is_apart()) how = action::release_apart;
  const operation freed = with_size(operation(how, block.slot), block.bytes, block.alignment_log2);
  emit(stream, taken.remote ? freed.from_other_thread() : freed);
  if (!taken.remote) threads_.slots_of(block.stream).release(block.slot);
  count_live(-1, 0, block.bytes);
}

void compiler::change_threads(const trace::event& next) {
  const auto about = static_cast<std::uint32_t>(next.address);
  switch (next.kind) {
    case kind::thread_begin:
      threads_.of(next.thread);
      break;
    case kind::thread_create:
      threads_.create(next.thread, about);
      break;
    case kind::thread_join:
      threads_.join(next.thread, about);
      break;
    case kind::thread_end:
      end_realloc(next.thread);
      threads_.end(next.thread);
      break;
    default:
      break;
  }
}

// Removes a block from the live blocks, for `stream` to free or move. If another stream filled the slot of
// the block, the block is moved to a slot that is used once, and its old slot returns to the stream that
// filled it.
compiler::taken_block compiler::take(std::uint32_t stream, std::uint64_t address) {
  const auto found = live_.find(address);
  taken_block taken{found->second, false};
  live_.erase(found);
  live_block& block = taken.block;
  if (block.stream == stream) return taken;
  ++head_.remote_releases;
  taken.remote = true;
  slot_numbers& owner = threads_.slots_of(block.stream);
  owner.release(block.slot);
  block.slot = owner.take_once(unused_slots_);
  writer_.move(block.filled_by, block.slot);
  move_survivors(block);
  return taken;
}

// A realloc_from that was followed by another event was realloc(p, 0), which frees.
void compiler::end_realloc(std::uint32_t thread) {
  const auto found = open_reallocs_.find(thread);
  if (found == open_reallocs_.end()) return;
  const pending old = found->second;
  open_reallocs_.erase(found);
  release_taken(threads_.of(thread), old.taken, action::release);
}

// If the address is still in use, its old block was freed without an event: the acquiring stream frees it.
void compiler::make_room(std::uint32_t stream, std::uint64_t address) {
  if (!live_.contains(address)) return;
  ++head_.doubled_blocks;
  const taken_block old = take(stream == prologue ? main_thread : stream, address);
  release_taken(stream, old, old.block.released_by);
}

operation compiler::with_size(operation plain, std::uint64_t bytes, std::uint8_t alignment_log2) {
  const std::uint64_t alignment = alignment_log2 != 0 ? std::uint64_t{1} << alignment_log2 : 0;
  const bool fits = bytes <= operation::most_value && alignment == 0;
  const operation sized(plain.what(), plain.slot(),
                        fits ? static_cast<std::uint32_t>(bytes) : writer_.add_side({bytes, alignment}));
  return fits ? sized : sized.with_side();
}

workload_writer::place_in_file compiler::emit(std::uint32_t stream, operation added) {
  ++operations_;
  ++operations_since_epoch_;
  return writer_.add(stream, added);
}

void compiler::keep_time(std::uint32_t stream, std::uint64_t stamp) {
  if (told_us_.size() <= stream) told_us_.resize(stream + 1);
  const std::uint64_t now = microseconds(stamp);
  if (now < told_us_[stream] + time_grain_us) return;
  told_us_[stream] = now;
  writer_.add(stream, operation::until(now));
}

void compiler::count_live(std::int64_t blocks, std::uint64_t gained, std::uint64_t lost) {
  HEAPLAB_ASSERT(live_bytes_ + gained >= lost && (blocks >= 0 || live_blocks_ > 0));
  live_blocks_ += static_cast<std::uint64_t>(blocks);
  live_bytes_ += gained - lost;
  bytes_since_epoch_ += gained;
  head_.peak_live_bytes = std::max(head_.peak_live_bytes, live_bytes_);
  head_.peak_live_blocks = std::max(head_.peak_live_blocks, live_blocks_);
}

bool compiler::epoch_is_due() const {
  const std::uint64_t enough =
      std::clamp(operations_ / done_share_of_epoch, least_epoch_operations, most_epoch_operations);
  return operations_since_epoch_ >= enough &&
         (bytes_since_epoch_ >= std::max(least_epoch_bytes, live_bytes_ / live_share_of_epoch));
}

// Ended threads are joined first, so that all their operations precede the epoch.
void compiler::pass_epoch() {
  threads_.join_ended(main_thread);
  const auto number = static_cast<std::uint32_t>(writer_.epochs());
  for (const std::uint32_t stream : threads_.alive())
    writer_.add(stream, operation(action::pass_epoch, number));
  writer_.add_epoch({microseconds(last_stamp_), live_bytes_, live_blocks_, threads_.alive().size()});
  bytes_since_epoch_ = operations_since_epoch_ = 0;
}

std::uint64_t compiler::microseconds(std::uint64_t stamp) const {
  return static_cast<std::uint64_t>(static_cast<double>(stamp - first_stamp_) / ticks_per_microsecond_);
}

}  // namespace heaplab::recorded
