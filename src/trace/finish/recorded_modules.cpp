#include "trace/finish/recorded_modules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace heaplab::trace {

namespace {

constexpr std::uint64_t displacement_step = std::uint64_t{1} << 48;
constexpr std::string_view deleted = " (deleted)";

}  // namespace

// Whether both are parts of one file at one place: a part may be split or joined when its protection changes.
bool recorded_modules::module::is_of_file_of(const module& other) const {
  return file == other.file && start - offset == other.start - other.offset &&
         (build_id == other.build_id || build_id.empty() || other.build_id.empty());
}

// The lines of one snapshot.
struct recorded_modules::reader {
  std::uint64_t stamp = 0;
  std::vector<module> code;
  std::map<std::uint64_t, std::string> files;  // path, by the address of the file's beginning
  std::map<std::uint64_t, std::string> ids;    // by the same

  void add_mapping(const std::string& line) {
    module added;
    char dash = 0;
    std::string permissions, device, inode;
    std::istringstream words(line);
    words >> std::hex >> added.start >> dash >> added.end >> permissions >> added.offset >> device >> inode;
    const std::size_t path = line.find('/');
    if (!words || path == std::string::npos || added.start >= added.end) return;
    added.file = device + ' ' + inode;
    added.path = line.substr(path);
    // The kernel appends " (deleted)" to the path of a file that was replaced while mapped.
    if (added.path.ends_with(deleted)) added.path.resize(added.path.size() - deleted.size());
    if (added.offset == 0) files[added.start] = added.path;
    if (permissions.find('x') != std::string::npos) code.push_back(added);
  }

  void add_id(const std::string& line) {
    std::istringstream words(line);
    char mark = 0;
    std::uint64_t start = 0;
    std::string id;
    if (words >> mark >> std::hex >> start >> id) ids[start] = id;
  }

  // "" if unknown. The beginning of a file lies before its code, or is the code itself.
  std::string id_of(const module& of) const {
    for (auto file = files.upper_bound(of.start); file != files.begin();) {
      if ((--file)->second != of.path) continue;
      const auto id = ids.find(file->first);
      return id == ids.end() ? std::string() : id->second;
    }
    return {};
  }
};

recorded_modules::recorded_modules(const std::string& raw_path) {
  std::ifstream maps(std::filesystem::path(raw_path).replace_extension(".maps"));
  reader present;
  const auto finish = [&] {
    snapshot ended{present.stamp, {}};
    for (module& found : present.code) {
      found.build_id = present.id_of(found);
      ended.modules[found.start] = number_of(found);
    }
    if (!ended.modules.empty()) {
      const auto later = std::ranges::upper_bound(snapshots_, ended.stamp, {}, &snapshot::stamp);
      snapshots_.insert(later, std::move(ended));
    }
    present = {};
  };
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with('@')) {
      finish();
      std::istringstream(line.substr(1)) >> std::hex >> present.stamp;
    } else if (line.starts_with('#')) {
      present.add_id(line);
    } else {
      present.add_mapping(line);
    }
  }
  finish();
}

// The number of the module, which is new if no snapshot knew it.
std::size_t recorded_modules::number_of(module found) {
  std::uint64_t free = 0;  // displacements from here on are
  std::optional<std::uint64_t> same;
  for (const module& known : modules_) {
    if (known.end <= found.start || found.end <= known.start) continue;
    if (found.is_of_file_of(known)) same = known.displacement;
    free = std::max(free, known.displacement + displacement_step);
  }
  found.displacement = same.value_or(free);
  displaced_ = displaced_ || found.displacement != 0;
  const auto known = std::ranges::find(modules_, found);
  if (known != modules_.end()) return static_cast<std::size_t>(known - modules_.begin());
  modules_.push_back(std::move(found));
  return modules_.size() - 1;
}

const recorded_modules::module* recorded_modules::find(const snapshot& in, std::uint64_t address) const {
  // The return address behind a call at the very end of a module still belongs to the module.
  auto found = in.modules.lower_bound(address);
  if (found == in.modules.begin()) return nullptr;
  const module& before = modules_[std::prev(found)->second];
  return address <= before.end ? &before : nullptr;
}

std::size_t recorded_modules::snapshot_before(std::uint64_t stamp) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(snapshots_, stamp, {}, &snapshot::stamp) -
                                  snapshots_.begin());
}

// A snapshot is taken before a library is loaded or unloaded. A library in use at `stamp` is therefore in the
// next snapshot; if that lacks the address, the library was being unloaded, and the snapshot before has it.
std::uint64_t recorded_modules::place(std::uint64_t address, std::uint64_t stamp) const {
  if (!displaced_) return address;
  const std::size_t next = snapshot_before(stamp);
  const module* found = next < snapshots_.size() ? find(snapshots_[next], address) : nullptr;
  if (found == nullptr && next > 0) found = find(snapshots_[next - 1], address);
  return address + (found == nullptr ? 0 : found->displacement);
}

namespace {

// In the order of their displaced addresses.
template <class Modules>
auto sorted(const Modules& all) {
  std::vector<const typename Modules::value_type*> order;
  for (const auto& loaded : all) order.push_back(&loaded);
  std::ranges::sort(order, {}, [](const auto* loaded) { return loaded->start + loaded->displacement; });
  return order;
}

}  // namespace

std::string recorded_modules::code() const {
  std::ostringstream text;
  for (const module* loaded : sorted(modules_))
    text << std::hex << loaded->start + loaded->displacement << '-' << loaded->end + loaded->displacement
         << ' ' << loaded->offset << ' ' << loaded->path << '\n';
  return text.str();
}

std::string recorded_modules::build_ids() const {
  std::ostringstream text;
  for (const module* loaded : sorted(modules_))
    if (!loaded->build_id.empty())
      text << std::hex << loaded->start + loaded->displacement << ' ' << loaded->build_id << '\n';
  return text.str();
}

}  // namespace heaplab::trace
