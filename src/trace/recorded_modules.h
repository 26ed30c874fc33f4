// The mapped files of a recorded process, from the text that the recorder leaves beside its file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heaplab::trace {

class recorded_modules {
public:
  // Reads lines START-END PERMISSIONS OFFSET DEVICE INODE PATH, as the kernel writes them, and "#START ID"
  // (src/recorder/build_ids.h). `raw_path` is that of the process's file.
  explicit recorded_modules(const std::string& raw_path);

  // For docs/trace-format.md, each line once: of mapped code START-END OFFSET PATH, of its build-id START ID.
  std::string code() const;
  std::string build_ids() const;

private:
  struct mapping {
    std::string span;  // START-END
    std::string offset;
    std::string path;
  };

  void add_mapping(const std::string& line);
  std::string id_of(std::uint64_t start, const std::string& path) const;

  std::map<std::uint64_t, std::vector<mapping>> code_;  // by start; a library may follow another there
  std::map<std::uint64_t, std::string> files_;          // path, by the address of the file's beginning
  std::map<std::uint64_t, std::string> ids_;            // by the same
};

}  // namespace heaplab::trace
