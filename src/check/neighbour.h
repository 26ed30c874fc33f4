// The path of another program in the folder of this program.
#pragma once

#include <climits>
#include <cstdio>
#include <cstring>

#include "base/assertion.h"

namespace heaplab::check {

class neighbour {
public:
  neighbour(const char* own_path, const char* name) {
    const char* const slash = std::strrchr(own_path, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash - own_path) + 1;
    [[maybe_unused]] const int length = std::snprintf(path_, sizeof path_, "%.*s%s", folder, own_path, name);
    HEAPLAB_ASSERT(length > 0 && length < PATH_MAX);
  }
  char* path() { return path_; }

private:
  char path_[PATH_MAX];
};

}  // namespace heaplab::check
