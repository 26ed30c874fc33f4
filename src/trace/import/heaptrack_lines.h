// heaptrack's data, raw or interpreted: lines of a letter and hexadecimal numbers.
//
//   v VERSION FORMAT    x LENGTH PROGRAM    X COMMAND LINE    c MILLISECONDS
//   s LENGTH TEXT       of the interpreted data, numbered from 1: modules, functions, files
//   i ADDRESS MODULE [FUNCTION FILE LINE]...   likewise: code addresses
//   m ...               of the raw data: where modules are mapped
//   t CODE PARENT       stacks, numbered from 1; CODE is the number of an i, or in raw data an address
//   a SIZE STACK        of the interpreted data, numbered from 0: what is acquired
//   + ...  - ...        raw: SIZE STACK BLOCK and BLOCK; interpreted: the number of an a
//
// It tells no threads. The interpreted data has no blocks: of those that agree in size and stack the youngest
// is taken to be released, and addresses are made up.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/file/properties.h"
#include "trace/file/trace_writer.h"
#include "trace/import/fields.h"
#include "trace/import/imported_process.h"

namespace heaplab::trace {

class heaptrack_lines {
public:
  // `name` is what errors call the text. Throws trace_error: a format it does not know.
  heaptrack_lines(trace_writer& to, std::string_view first_line, const std::string& name);

  static bool begins(std::string_view first_line) { return first_line.starts_with("v "); }

  // False: the line was not understood.
  bool add(std::string_view line);

  // Begins with the first event, code address or module: heaptrack tells before what program it is.
  imported_process& process();

private:
  struct stack {
    std::uint64_t address = 0;
    std::uint32_t parent = 0;
    std::uint32_t site = 0;  // in the trace; 0: not yet there
  };
  struct acquisition {
    std::uint64_t size = 0;
    std::uint64_t stack = 0;
    std::vector<std::uint64_t> live;  // made up addresses, the youngest last
  };

  void add_program(std::string_view line);
  bool add_code(fields& in);
  bool add_module(fields& in);
  bool add_stack(fields& in);
  bool add_acquisition(fields& in);
  bool acquire(fields& in);
  bool release(fields& in);
  std::uint32_t site_of(std::uint64_t number);
  std::string name_of_code(fields& in) const;
  std::string_view sized_text(fields& in) const;

  trace_writer& to_;
  properties of_;
  std::optional<imported_process> process_;
  std::uint64_t format_ = 0;
  std::uint64_t made_up_ = 0;  // address
  std::set<std::string> modules_;
  std::vector<std::string> texts_;
  std::vector<std::uint64_t> codes_;  // addresses
  std::vector<stack> stacks_;
  std::vector<acquisition> acquisitions_;
  std::vector<std::uint64_t> frames_;
};

}  // namespace heaplab::trace
