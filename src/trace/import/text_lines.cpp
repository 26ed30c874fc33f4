#include "trace/import/text_lines.h"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "trace/file/trace_error.h"

namespace heaplab::trace {

namespace {

constexpr std::size_t at_once = std::size_t{1} << 17;
constexpr char zstd_magic[] = {'\x28', '\xB5', '\x2F', '\xFD'};

}  // namespace

struct text_lines::unpacker {
  ZSTD_DStream* stream = ZSTD_createDStream();
  ~unpacker() { ZSTD_freeDStream(stream); }
};

text_lines::text_lines(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

text_lines::~text_lines() = default;

bool text_lines::next(std::string_view& line) {
  line_.clear();
  for (;;) {
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto end = std::find(begin, text_.end(), '\n');
    const bool whole = end != text_.end();
    at_ = static_cast<std::size_t>(end - text_.begin()) + (whole ? 1 : 0);
    if (whole && line_.empty()) {
      line = {text_.data() + (begin - text_.begin()), static_cast<std::size_t>(end - begin)};
      return true;
    }
    line_.append(begin, end);
    if (line_.size() > longest) throw trace_error(name_, "has a line of more than 1 MiB");
    if (whole) {
      line = line_;
      return true;
    }
    if (!refill()) {
      cut_off_ = frame_open_ || !line_.empty();
      return false;
    }
  }
}

bool text_lines::refill() {
  at_ = 0;
  if (unpacker_) return unpack();
  text_.resize(at_once);
  text_.swap(packed_);
  const std::size_t got = read_more();
  text_.swap(packed_);
  text_.resize(got);
  if (begun_ || got == 0) return got != 0;
  begun_ = true;
  if (got < sizeof zstd_magic || std::memcmp(text_.data(), zstd_magic, sizeof zstd_magic) != 0) return true;
  unpacker_ = std::make_unique<unpacker>();
  if (unpacker_->stream == nullptr) throw std::bad_alloc();
  packed_ = std::exchange(text_, {});
  return unpack();
}

// Fills packed_ to its size, or up to the end.
std::size_t text_lines::read_more() {
  std::size_t got = 0;
  while (got < packed_.size()) {
    const ssize_t some = ::read(descriptor_, packed_.data() + got, packed_.size() - got);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) throw trace_error(name_, std::strerror(errno));
    if (some == 0) break;
    got += static_cast<std::size_t>(some);
  }
  return got;
}

bool text_lines::unpack() {
  text_.resize(at_once);
  for (;;) {
    if (packed_at_ == packed_.size()) {
      packed_.resize(at_once);
      packed_at_ = 0;
      packed_.resize(read_more());
    }
    ZSTD_inBuffer in{packed_.data(), packed_.size(), packed_at_};
    ZSTD_outBuffer out{text_.data(), text_.size(), 0};
    const std::size_t left = ZSTD_decompressStream(unpacker_->stream, &out, &in);
    if (ZSTD_isError(left) != 0) throw trace_error(name_, "is damaged: zstd cannot unpack it");
    const bool moved = in.pos != packed_at_ || out.pos != 0;
    packed_at_ = in.pos;
    if (moved) frame_open_ = left != 0;
    if (out.pos != 0 || (packed_.empty() && !moved)) {
      text_.resize(out.pos);
      return out.pos != 0;
    }
  }
}

}  // namespace heaplab::trace
