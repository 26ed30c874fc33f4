#include "trace/profile/profile_json.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "trace/file/event_stream.h"

namespace heaplab::trace {

namespace {

void put_row(probes::json_line& out, std::initializer_list<std::uint64_t> columns) {
  out.begin_array();
  for (const std::uint64_t column : columns) out.value(column);
  out.end_array();
}

template <class List, class Value = std::identity>
void put_list(probes::json_line& out, const List& of, Value value = {}) {
  out.begin_array();
  for (const auto& item : of) out.value(std::invoke(value, item));
  out.end_array();
}

void put_series(probes::json_line& out, const time_series& of) {
  out.key("origin").value(of.origin()).key("width").value(of.width());
  out.key("stretches").begin_array();
  for (const stretch& s : of.stretches())
    put_row(out, {s.peak_bytes, s.peak_blocks, s.live_bytes, s.live_blocks, s.acquisitions, s.bytes_acquired,
                  s.releases});
  out.end_array();
}

void put_lives(probes::json_line& out, const profile& of) {
  out.key("lifetime_bounds").begin_array();
  for (std::size_t life = 0; life + 2 < profile::lifetime_classes; ++life) out.value(of.lifetime_bound(life));
  out.end_array().key("lives").begin_array();
  for (std::size_t size = 0; size < profile::size_classes; ++size)
    for (std::size_t life = 0; life < profile::lifetime_classes; ++life)
      if (const amount& lived = of.by_life()[size][life]; lived.blocks != 0)
        put_row(out, {size, life, lived.blocks, lived.bytes});
  out.end_array();
}

void put_growths(probes::json_line& out, const growth_profile& of) {
  out.key("growths").begin_object();
  out.key("calls").value(of.calls).key("moved").value(of.moved);
  out.key("bytes_moved").value(of.bytes_moved).key("shrank").value(of.shrank);
  out.key("chains").begin_array();
  for (const std::uint64_t blocks : of.chains) out.value(blocks);
  out.end_array().end_object();
}

void put_site_profiles(probes::json_line& out, const std::vector<site_profile>& sites) {
  out.key("sites").begin_array();
  for (std::size_t number = 0; number < sites.size(); ++number) {
    const site_profile& s = sites[number];
    if (s.acquired.blocks == 0) continue;
    put_row(out,
            {number, s.acquired.bytes, s.acquired.blocks, s.most.bytes, s.most.blocks, s.at_peak.bytes,
             s.at_peak.blocks, s.live.bytes, s.live.blocks, s.lifetimes, s.remote, s.growths, s.bytes_moved});
  }
  out.end_array();
}

// Rows of lists: blocks by lifetime, blocks by age, blocks by cohort, bytes by cohort, live bytes over time.
void put_lifetimes(probes::json_line& out, const lifetimes& of) {
  constexpr std::size_t most_sites = 2048;  // those with the most survivors
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  for (const auto& [site, found] : of.surviving()) {
    std::uint64_t blocks = 0;
    for (const std::uint64_t some : found.ages) blocks += some;
    order.emplace_back(blocks, site);
  }
  std::sort(order.rbegin(), order.rend());
  order.resize(std::min(order.size(), most_sites));
  out.key("lifetimes").begin_object();
  out.key("last_act").value(of.last().begin).key("acquisitions").value(of.last().acquisitions);
  out.key("cohort_stamps").begin_array();
  for (const std::uint64_t stamp : of.stamps()) out.value(stamp);
  out.end_array().key("sites").begin_array();
  for (const auto& [blocks, site] : order) {
    const lifetimes::of_site& found = of.sites()[site];
    const lifetimes::survivors& alive = of.surviving().at(site);
    out.begin_array().value(std::uint64_t{site});
    out.value(found.released_last.blocks).value(found.released_last.bytes);
    put_list(out, found.released);
    put_list(out, alive.ages);
    put_list(out, alive.by_cohort, &amount::blocks);
    put_list(out, alive.by_cohort, &amount::bytes);
    put_list(out, found.course);
    out.end_array();
  }
  out.end_array().end_object();
}

}  // namespace

void put_profile(probes::json_line& out, const profile& of) {
  out.begin_object();
  out.key("peak_stamp").value(of.peak_stamp()).key("last_stamp").value(of.last_stamp());
  out.key("peak_bytes").value(of.peak().bytes).key("peak_blocks").value(of.peak().blocks);
  put_series(out, of.series());
  put_lives(out, of);
  out.key("threads").begin_array();
  for (const auto& [key, blocks] : of.threads())
    put_row(out, {profile::acquirer(key), profile::releaser(key), blocks.blocks, blocks.bytes});
  out.end_array();
  out.key("shares").begin_array();
  for (const auto& [key, of_thread] : of.by_thread_and_site())
    put_row(out, {profile::acquirer(key), profile::site_of(key), of_thread.acquired.bytes,
                  of_thread.acquired.blocks, of_thread.most_bytes});
  out.end_array();
  out.key("acquirers").begin_array();
  for (const auto& [thread, share] : of.by_thread()) put_row(out, {thread, share.most_bytes});
  out.end_array();
  put_growths(out, of.growths());
  out.key("kinds").begin_array();
  for (std::size_t number = 0; number < of.kinds().size(); ++number)
    if (of.kinds()[number] != 0) put_row(out, {number, of.kinds()[number]});
  out.end_array();
  put_site_profiles(out, of.sites());
  put_lifetimes(out, of.lifetimes_by_site());
  out.end_object();
}

void put_subsystems(probes::json_line& out, const subsystems& of) {
  const auto put_amount = [&out](const char* name, const amount& a) {
    out.key(name);
    put_row(out, {a.blocks, a.bytes});
  };
  out.begin_array();
  for (const subsystem& s : of.found()) {
    out.begin_object();
    put_amount("acquired", s.acquired);
    put_amount("above_large", s.above_large);
    out.key("released").value(s.released).key("growths").value(s.growths).key("remote").value(s.remote);
    out.key("turns").value(s.turns).key("most_bytes").value(s.most_bytes);
    out.key("threads").value(std::uint64_t{s.threads.size()}).key("episodes").value(s.episodes);
    out.key("open_bytes").value(s.open_bytes).key("ticks").value(s.ticks);
    out.key("episode_bytes").value(s.episode_bytes).key("episode_most").value(s.episode_most);
    out.key("sizes");
    put_list(out, s.sizes);
    out.key("totals");
    put_list(out, s.totals);
    out.key("largest").begin_array();
    for (const episode& e : s.largest) put_row(out, {e.begin, e.end, e.bytes, e.most, e.thread});
    out.end_array().key("stayed").begin_array();
    for (const auto& [site, stayed] : s.stayed) put_row(out, {site, stayed.blocks, stayed.bytes});
    out.end_array().end_object();
  }
  out.end_array();
}

void put_habits(probes::json_line& out, const block_habits& of) {
  out.begin_array();
  for (const auto& [site, found] : of.by_site())
    put_row(out, {site, found.temporaries, found.temporary_bytes, found.chains, found.growths,
                  found.bytes_copied});
  out.end_array();
}

void put_sites(probes::json_line& out, trace_file& file, std::uint32_t process) {
  const site_table sites(file, process);
  out.begin_object().key("sites").begin_array();
  for (std::uint32_t number = 1; number <= sites.size(); ++number) {
    out.begin_array();
    for (const std::uint64_t address : sites.frames_of(number)) out.value(address);
    out.end_array();
  }
  out.end_array();
  out.key("modules").value(file.modules(process));
  out.key("build_ids").value(file.build_ids(process));
  out.key("names").value(file.names(process));
  out.end_object();
}

}  // namespace heaplab::trace
