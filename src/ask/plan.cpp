#include "ask/plan.h"

#include <array>
#include <istream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace heaplab::ask {

namespace {

std::vector<unsigned char> bytes_of(std::istream& from) {
  std::string text;
  from >> text;
  std::vector<unsigned char> bytes(text.size() / 2);
  for (std::size_t place = 0; place < bytes.size(); ++place)
    bytes[place] = static_cast<unsigned char>(std::stoul(text.substr(2 * place, 2), nullptr, 16));
  return bytes;
}

struct number_line {
  std::string_view name;
  std::uint64_t plan::* value;
};

constexpr std::array numbers{
    number_line{"code", &plan::code},
    number_line{"area", &plan::area},
    number_line{"area-bytes", &plan::area_bytes},
    number_line{"map", &plan::map},
    number_line{"unmap", &plan::unmap},
    number_line{"errno", &plan::errno_location},
    number_line{"records", &plan::records_begin},
    number_line{"records-by-each", &plan::records_by_each},
    number_line{"records-end", &plan::records_end},
    number_line{"done", &plan::done},
};

void read_line(const std::string& name, std::istream& from, plan& into) {
  for (const number_line& line : numbers) {
    if (line.name == name) {
      from >> std::hex >> into.*line.value;
      return;
    }
  }
  if (name == "process") {
    from >> into.process;
  } else if (name == "may-abandon") {
    from >> into.may_abandon;
  } else if (name == "content") {
    into.content = bytes_of(from);
  } else if (name == "expect") {
    expected_bytes expected{};
    from >> std::hex >> expected.address;
    expected.bytes = bytes_of(from);
    into.expected.push_back(std::move(expected));
  } else if (name == "unsafe") {
    address_range range{};
    from >> std::hex >> range.begin >> range.end;
    into.unsafe.push_back(range);
  } else {
    throw std::runtime_error("a plan has no line " + name);
  }
}

}  // namespace

plan read_plan(std::istream& from) {
  plan found;
  for (std::string line; std::getline(from, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    read_line(name, words, found);
    if (!words) throw std::runtime_error("a line of the plan is cut off: " + name);
  }
  return found;
}

}  // namespace heaplab::ask
