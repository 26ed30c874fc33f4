// Named texts of a frame, one line NAME=VALUE for each; in a value, % and 0x7F and all bytes below 0x20 are
// written %XX.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace heaplab::trace {

class properties {
public:
  void set(std::string_view name, std::string_view value) { values_[std::string(name)] = value; }
  void set(std::string_view name, std::uint64_t value) { set(name, std::to_string(value)); }

  // "" and 0 if there is no property of this name.
  std::string_view text(std::string_view name) const;
  std::uint64_t number(std::string_view name) const;
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }

  const std::map<std::string, std::string, std::less<>>& all() const { return values_; }

  std::string encode() const;
  static properties decode(std::string_view lines);

private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace heaplab::trace
