// The operating system as a parameter of the code that allocates: a type with the functions below, all
// static, and the type of a thread. The libraries use system_platform. Tests substitute a platform that
// refuses chosen calls or whose clock they set (tests/support/fake_platform.h).
#pragma once

#include "base/bare_thread.h"
#include "base/coarse_clock.h"
#include "base/futex.h"
#include "base/kernel_random.h"
#include "base/os_pages.h"
#include "base/process_conditions.h"

namespace heaplab {

struct system_platform {
  static constexpr auto& address_space_limit = os_pages::address_space_limit;
  static constexpr auto& reserve_without_access = os_pages::reserve_without_access;
  static constexpr auto& make_accessible = os_pages::make_accessible;
  static constexpr auto& reserve = os_pages::reserve;
  static constexpr auto& make_inaccessible = os_pages::make_inaccessible;
  static constexpr auto& install_guard = os_pages::install_guard;
  static constexpr auto& remove_guard = os_pages::remove_guard;
  static constexpr auto& allocate = os_pages::allocate;
  static constexpr auto& unmap = os_pages::unmap;
  static constexpr auto& remap = os_pages::remap;
  static constexpr auto& remap_aligned = os_pages::remap_aligned;
  static constexpr auto& purge = os_pages::purge;
  static constexpr auto& purge_each = os_pages::purge_each;
  static constexpr auto& purge_at_once = os_pages::purge_at_once;
  static constexpr auto& advise_huge = os_pages::advise_huge;
  static constexpr auto& is_readable = os_pages::is_readable;
  static constexpr auto& holds_data = os_pages::holds_data;
  static constexpr auto& holds_word = os_pages::holds_word;
  static constexpr auto& differs_from = os_pages::differs_from;
  static constexpr auto& milliseconds = coarse_milliseconds;
  static constexpr auto& wait = futex_wait_for;
  static constexpr auto& wake = futex_wake_one;
  static constexpr auto& random_key = kernel_random;
  static constexpr auto& process_number = heaplab::process_number;
  static constexpr auto& processors = processor_set::of;
  // Tells the threads apart that there are.
  static const void* this_thread() { return __builtin_thread_pointer(); }
  using thread = bare_thread;
};

}  // namespace heaplab
