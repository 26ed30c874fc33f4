// The mapped files of a recorded process, from the text that the recorder leaves beside its file.
//
// A library that was unloaded may be followed by another at the same addresses. An address then tells a file
// only together with a time. So that call sites can be told by addresses alone, each later file that was
// mapped where another had been is displaced by a multiple of 2^48, in `code` and in the addresses of call
// sites alike.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heaplab::trace {

class recorded_modules {
public:
  // Reads snapshots: a line "@STAMP", lines START-END PERMISSIONS OFFSET DEVICE INODE PATH, as the kernel
  // writes them, and "#START ID" (src/recorder/build_ids.h). `raw_path` is that of the process's file.
  explicit recorded_modules(const std::string& raw_path);

  // Whether any address has two meanings.
  bool has_displaced() const { return displaced_; }

  // The code address, displaced where the stamp tells a later file.
  std::uint64_t place(std::uint64_t address, std::uint64_t stamp) const;

  // From this stamp on until the next snapshot, place() gives the same. Stamps with the same number are
  // alike.
  std::size_t snapshot_before(std::uint64_t stamp) const;

  // For docs/trace-format.md, each line once: of mapped code START-END OFFSET PATH, of its build-id START ID.
  std::string code() const;
  std::string build_ids() const;

private:
  // A file that was mapped with its code at [start, end), in all snapshots that know it there.
  struct module {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    std::string path;
    std::string file;      // its device and inode, which stay when the file is replaced
    std::string build_id;  // "" if unknown
    std::uint64_t displacement = 0;

    bool operator==(const module&) const = default;
    bool is_of_file_of(const module& other) const;
  };
  using numbers = std::map<std::uint64_t, std::size_t>;  // of modules, by start
  struct snapshot {
    std::uint64_t stamp = 0;
    numbers modules;
  };

  struct reader;
  std::size_t number_of(module found);
  const module* find(const snapshot& in, std::uint64_t address) const;

  std::vector<module> modules_;
  std::vector<snapshot> snapshots_;  // by stamp
  bool displaced_ = false;
};

}  // namespace heaplab::trace
