// SPDX-License-Identifier: Apache-2.0
// Reading and unpacking in blocks, so that memory does not depend on the profile's size. ISA-L is
// the fastest inflate that streams; docs/formats.md has the rates.
#include "trace/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/owned.h"

namespace roofmark::trace {
namespace {

constexpr size_t kStoredBlock = 256 << 10;
constexpr size_t kLeastMapped = 1 << 20;
// Bytes of a zstd frame that say how long its header is, and of a block's header.
// Source: RFC 8878, 3.1.1.
constexpr size_t kFrameStart = 5;
constexpr size_t kBlockHeader = 3;

void FreeZstd(ZSTD_DStream* stream) {
  ZSTD_freeDStream(stream);
}

enum class Coding { kPlain, kGzip, kZstd };

Coding CodingOf(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return Coding::kGzip;
  // Source: RFC 8878, 3.1: a frame, or a skippable one.
  if (head.starts_with("\x28\xb5\x2f\xfd")) return Coding::kZstd;
  const bool skippable = head.size() >= 4 && (head[0] & '\xf0') == '\x50' &&
                         head.substr(1).starts_with("\x2a\x4d\x18");
  return skippable ? Coding::kZstd : Coding::kPlain;
}

}  // namespace

struct ByteSource::State {
  std::string path;
  Fd fd;                    // invalid for memory
  std::string_view whole;   // of memory
  std::string_view memory;  // not yet consumed
  std::unique_ptr<MappedFile> mapped;
  std::vector<uint8_t> block;
  std::string_view pending;  // stored bytes that were read and not yet consumed
  Coding coding = Coding::kPlain;
  bool started = false;
  bool ended = false;
  bool member_open = false;
  uint64_t stored = 0;
  uint64_t delivered = 0;
  std::string damage;
  inflate_state inflater;
  Owned<ZSTD_DStream, FreeZstd> zstd;
  size_t wanted = 0;       // bytes that zstd asked for next
  bool unflushed = false;  // zstd may hold text that found no room

  Result<size_t> ReadFile(char* to, size_t capacity) const;
  Result<void> Refill();
  Result<void> Start();
  Result<size_t> ReadPlain(char* to, size_t capacity);
  Result<size_t> Inflate(char* to, size_t capacity);
  bool NextMember();
  Result<size_t> Unzstd(char* to, size_t capacity);
};

ByteSource::ByteSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

bool ByteSource::compressed() const {
  return state_->coding != Coding::kPlain;
}
uint64_t ByteSource::stored_bytes() const {
  return state_->stored;
}
uint64_t ByteSource::bytes() const {
  return state_->delivered;
}
const std::string& ByteSource::damage() const {
  return state_->damage;
}

Result<ByteSource> ByteSource::OpenFile(const std::filesystem::path& path) {
  auto state = std::make_unique<State>();
  state->path = path.string();
  state->fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!state->fd.valid()) {
    const int error = errno;
    return Fail(error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                fmt::format("{}: {}", state->path, std::strerror(error)));
  }
  ::posix_fadvise(state->fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  state->block.resize(kStoredBlock);
  return ByteSource(std::move(state));
}

ByteSource ByteSource::FromMemory(std::string_view bytes) {
  auto state = std::make_unique<State>();
  state->path = "memory";
  state->whole = state->memory = bytes;
  return ByteSource(std::move(state));
}

Result<void> ByteSource::Restart() {
  State& state = *state_;
  if (state.fd.valid() && ::lseek(state.fd.get(), 0, SEEK_SET) != 0) {
    return Fail(ErrorKind::kIo, fmt::format("{}: {}", state.path, std::strerror(errno)));
  }
  state.memory = state.whole;
  state.mapped.reset();
  state.pending = {};
  state.started = state.ended = state.member_open = false;
  state.stored = state.delivered = 0;
  state.damage.clear();
  return {};
}

Result<MappedFile*> ByteSource::Map() {
  State& state = *state_;
  if (state.started || !state.fd.valid()) return nullptr;
  TRY(state.Start());
  struct stat status = {};
  if (state.coding != Coding::kPlain || ::fstat(state.fd.get(), &status) != 0) return nullptr;
  const auto size = static_cast<size_t>(status.st_size);
  if (size < kLeastMapped) return nullptr;
  state.mapped = MappedFile::Map(state.fd.get(), size - kStoredBlock);
  return state.mapped.get();
}

Result<void> ByteSource::ReadOn(size_t offset, bool missing) {
  State& state = *state_;
  if (::lseek(state.fd.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    return Fail(ErrorKind::kIo, fmt::format("{}: {}", state.path, std::strerror(errno)));
  }
  state.pending = {};
  state.stored = state.delivered = offset;
  if (missing) state.damage = "the file shrank while it was read";
  return {};
}

// Guarantees: `pending` is empty only at the end of the stored bytes.
Result<void> ByteSource::State::Refill() {
  if (!pending.empty()) return {};
  if (!fd.valid()) {
    pending = std::exchange(memory, {});
    stored += pending.size();
    return {};
  }
  auto* const to = reinterpret_cast<char*>(block.data());
  const size_t got = TRY(ReadFile(to, block.size()));
  stored += got;
  pending = {to, got};
  return {};
}

Result<size_t> ByteSource::State::ReadFile(char* to, size_t capacity) const {
  ssize_t got = 0;
  do {
    got = ::read(fd.get(), to, capacity);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Fail(ErrorKind::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  return static_cast<size_t>(got);
}

Result<void> ByteSource::State::Start() {
  started = true;
  TRY(Refill());
  coding = CodingOf(pending);
  if (coding == Coding::kZstd) {
    if (zstd == nullptr) zstd.reset(ZSTD_createDStream());
    if (zstd == nullptr) return Fail(ErrorKind::kIo, "no memory for zstd");
    wanted = ZSTD_initDStream(zstd.get());
    unflushed = false;
  }
  if (coding == Coding::kGzip) {
    isal_inflate_init(&inflater);
    inflater.crc_flag = ISAL_GZIP;
    member_open = true;
  }
  return {};
}

Result<size_t> ByteSource::Read(char* to, size_t capacity) {
  if (!state_->started) TRY(state_->Start());
  const size_t got = TRY(state_->coding == Coding::kGzip   ? state_->Inflate(to, capacity)
                         : state_->coding == Coding::kZstd ? state_->Unzstd(to, capacity)
                                                           : state_->ReadPlain(to, capacity));
  state_->delivered += got;
  return got;
}

Result<size_t> ByteSource::State::ReadPlain(char* to, size_t capacity) {
  if (pending.empty() && fd.valid()) {
    const size_t got = TRY(ReadFile(to, capacity));  // without a copy
    stored += got;
    return got;
  }
  TRY(Refill());
  const size_t count = std::min(capacity, pending.size());
  std::copy_n(pending.data(), count, to);  // at the end, of nothing from nowhere
  pending.remove_prefix(count);
  return count;
}

// After a member: another one follows, or zero padding, or something that is no gzip.
bool ByteSource::State::NextMember() {
  while (!pending.empty() && pending.front() == '\0') pending.remove_prefix(1);
  if (pending.empty()) return false;
  if (pending.front() != '\x1f') {
    damage = "bytes after the last gzip member are no gzip";
    ended = true;
    return false;
  }
  isal_inflate_reset(&inflater);
  inflater.crc_flag = ISAL_GZIP;
  member_open = true;
  return true;
}

Result<size_t> ByteSource::State::Inflate(char* to, size_t capacity) {
  size_t filled = 0;
  while (filled < capacity && !ended) {
    TRY(Refill());
    if (!member_open && !NextMember()) {
      TRY(Refill());
      if (pending.empty()) ended = true;
      continue;
    }
    const size_t room = std::min<size_t>(capacity - filled, UINT32_MAX);
    const size_t offered = std::min<size_t>(pending.size(), UINT32_MAX);
    // ISA-L takes its input through a pointer to non-const but only reads it.
    inflater.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(pending.data()));
    inflater.avail_in = static_cast<uint32_t>(offered);
    inflater.next_out = reinterpret_cast<uint8_t*>(to + filled);
    inflater.avail_out = static_cast<uint32_t>(room);
    const int status = isal_inflate(&inflater);
    const size_t made = room - inflater.avail_out;
    const bool stuck = made == 0 && inflater.avail_in == offered;
    filled += made;
    pending.remove_prefix(offered - inflater.avail_in);
    if (status < 0 && status != ISAL_END_INPUT) {
      damage = fmt::format("gzip data does not decode (ISA-L error {})", status);
      ended = true;
    } else if (inflater.block_state == ISAL_BLOCK_FINISH) {
      member_open = false;
    } else if (offered == 0 && stuck) {
      damage = "the gzip stream ends early";
      ended = true;
    }
  }
  return filled;
}

// Frames follow each other without a word; a frame is open while zstd wants more bytes. It gets a
// block at a time, without the next one's header (for which it asks too), and nothing before all
// its text is taken: a call that fails tells nothing of the text that it made, so that what lies
// before the damage would be lost.
Result<size_t> ByteSource::State::Unzstd(char* to, size_t capacity) {
  ZSTD_outBuffer out{to, capacity, 0};
  while (out.pos < capacity && !ended) {
    TRY(Refill());
    const size_t asked = wanted > kBlockHeader ? wanted - kBlockHeader : wanted;
    const size_t offered = unflushed ? 0 : std::min(pending.size(), asked);
    ZSTD_inBuffer in{pending.data(), offered, 0};
    const size_t before = out.pos;
    const size_t status = ZSTD_decompressStream(zstd.get(), &out, &in);
    const bool stuck = in.pos == 0 && out.pos == before;
    if (ZSTD_isError(status) != 0) {
      damage = fmt::format("zstd data does not decode ({})", ZSTD_getErrorName(status));
      ended = true;
    } else if (pending.empty() && stuck && !unflushed) {
      if (member_open) damage = "the zstd stream ends early";
      ended = true;
    } else if (in.pos > 0 || out.pos > before) {
      member_open = status != 0;
      wanted = member_open ? status : kFrameStart;
    }
    unflushed = out.pos == capacity;
    pending.remove_prefix(in.pos);
  }
  return out.pos;
}

}  // namespace roofmark::trace
