// The path of another program in the folder of this program.
#pragma once

#include <climits>
#include <cstdio>
#include <cstring>

namespace heaplab::check {

class neighbour {
public:
  neighbour(const char* own_path, const char* name) {
    const char* const slash = std::strrchr(own_path, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash - own_path) + 1;
    std::snprintf(path_, sizeof path_, "%.*s%s", folder, own_path, name);
  }
  char* path() { return path_; }

private:
  char path_[PATH_MAX];
};

}  // namespace heaplab::check
