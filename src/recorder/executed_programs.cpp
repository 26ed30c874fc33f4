#include "recorder/executed_programs.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/errno_keeper.h"
#include "recorder/process_file.h"
#include "recorder/system_call_filters.h"

namespace heaplab::recorder {

namespace {

constexpr std::size_t room = trace::control_bytes - sizeof(trace::raw_control);

constinit const char* own_path = "";

const char* value_in(const char* const* environment, const char* name_and_sign) {
  const std::size_t length = strlen(name_and_sign);
  for (; *environment != nullptr; ++environment)
    if (strncmp(*environment, name_and_sign, length) == 0) return *environment + length;
  return "";
}

bool leads_recorder(const char* const* environment) {
  return environment != nullptr && strstr(value_in(environment, "LD_PRELOAD="), own_path) != nullptr &&
         strcmp(value_in(environment, "HEAPLAB_RECORD="), recording_folder()) == 0;
}

// Two processes that execute the same program at the same time may add the text twice.
void add_text(trace::raw_control& to, const char* text, std::size_t bytes) {
  char* const texts = reinterpret_cast<char*>(&to + 1);
  const std::size_t filled = std::min<std::size_t>(to.text_bytes.load(std::memory_order_relaxed), room - 1);
  // With the zero byte that ends it: what follows the last text is zero.
  if (memmem(texts, filled + 1, text, bytes + 1) != nullptr) return;
  const std::size_t at =
      to.text_bytes.fetch_add(static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
  if (at + bytes < room) memcpy(texts + at, text, bytes);
}

}  // namespace

void prepare_for_programs() {
  Dl_info own;
  if (dladdr(&own_path, &own) != 0 && own.dli_fname != nullptr) own_path = own.dli_fname;
}

void note_program(const char* path, const char* const* environment) {
  const trace::recording state = recording_state();
  if (state != trace::recording::on && state != trace::recording::looking) return;
  const errno_keeper keep;
  const bool is_path = strchr(path, '/') != nullptr;
  if (is_path && may_call_system() && ::access(path, X_OK) != 0) return;
  char text[PATH_MAX + PATH_MAX] = {'\0', leads_recorder(environment) ? '+' : '-'};
  char* end = text + 2;
  if (is_path && *path != '/' && may_call_system() && ::getcwd(end, PATH_MAX - 2) != nullptr)
    end = stpcpy(end + strlen(end), "/");
  if (strlen(path) >= PATH_MAX) return;
  end = stpcpy(end, path);
  add_text(*control.load(std::memory_order_acquire), text, static_cast<std::size_t>(end - text));
}

}  // namespace heaplab::recorder
