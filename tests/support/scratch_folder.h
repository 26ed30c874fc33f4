// A folder of this process alone, removed with the object, and what files hold.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace heaplab::testing {

class scratch_folder {
public:
  scratch_folder() { std::filesystem::create_directory(path); }
  ~scratch_folder() { std::filesystem::remove_all(path); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string operator/(const char* name) const { return path / name; }

  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("heaplab-test-" + std::to_string(::getpid()));
};

inline std::string text_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace heaplab::testing
