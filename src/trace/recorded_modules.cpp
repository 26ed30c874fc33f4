#include "trace/recorded_modules.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace heaplab::trace {

recorded_modules::recorded_modules(const std::string& raw_path) {
  std::ifstream maps(std::filesystem::path(raw_path).replace_extension(".maps"));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    char mark = 0;
    std::uint64_t start = 0;
    std::string id;
    if (!line.starts_with('#'))
      add_mapping(line);
    else if (words >> mark >> std::hex >> start >> id)
      ids_[start] = id;
  }
}

void recorded_modules::add_mapping(const std::string& line) {
  mapping added;
  std::string permissions;
  std::istringstream words(line);
  const std::size_t path = line.find('/');
  if (path == std::string::npos || !(words >> added.span >> permissions >> added.offset)) return;
  added.path = line.substr(path);
  const std::uint64_t start = std::strtoull(added.span.c_str(), nullptr, 16);
  if (std::strtoull(added.offset.c_str(), nullptr, 16) == 0) files_[start] = added.path;
  if (permissions.find('x') == std::string::npos) return;
  std::vector<mapping>& there = code_[start];
  const auto same = [&](const mapping& one) { return one.span == added.span && one.path == added.path; };
  if (std::ranges::none_of(there, same)) there.push_back(added);
}

std::string recorded_modules::code() const {
  std::string text;
  for (const auto& [start, there] : code_)
    for (const mapping& one : there) text += one.span + ' ' + one.offset + ' ' + one.path + '\n';
  return text;
}

// "" if unknown. The beginning of a file lies before its code, or is the code itself.
std::string recorded_modules::id_of(std::uint64_t start, const std::string& path) const {
  for (auto file = files_.upper_bound(start); file != files_.begin();) {
    if ((--file)->second != path) continue;
    const auto id = ids_.find(file->first);
    return id == ids_.end() ? std::string() : id->second;
  }
  return {};
}

std::string recorded_modules::build_ids() const {
  std::ostringstream text;
  for (const auto& [start, there] : code_)
    if (const std::string id = id_of(start, there.back().path); !id.empty())
      text << std::hex << start << ' ' << id << '\n';
  return text.str();
}

}  // namespace heaplab::trace
