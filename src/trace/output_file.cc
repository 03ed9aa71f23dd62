// SPDX-License-Identifier: Apache-2.0
#include "trace/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/owned.h"

namespace roofmark::trace {
namespace {

constexpr size_t kBlock = 1 << 20;

Result<void> WriteAll(int file, const char* data, size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t written = ::write(file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return Fail(ErrorKind::kIo, fmt::format("writing {}: {}", path, std::strerror(errno)));
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
  return {};
}

}  // namespace

struct OutputFile::State {
  std::string path;
  Fd file;
  bool gzip = false;
  uint64_t bytes = 0;
  std::string pending;
  isal_zstream stream{};
  std::vector<uint8_t> level;
  std::vector<uint8_t> packed;

  Result<void> Flush(bool last) {
    if (!gzip) {
      TRY(WriteAll(file.get(), pending.data(), pending.size(), path));
      pending.clear();
      return {};
    }
    stream.next_in = reinterpret_cast<uint8_t*>(pending.data());
    stream.avail_in = static_cast<uint32_t>(pending.size());
    stream.end_of_stream = last ? 1 : 0;
    do {
      stream.next_out = packed.data();
      stream.avail_out = static_cast<uint32_t>(packed.size());
      if (isal_deflate(&stream) != COMP_OK) {
        return Fail(ErrorKind::kIo, fmt::format("compressing {} failed", path));
      }
      const size_t made = packed.size() - stream.avail_out;
      TRY(WriteAll(file.get(), reinterpret_cast<const char*>(packed.data()), made, path));
    } while (stream.avail_out == 0 || stream.avail_in > 0);
    pending.clear();
    return {};
  }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::Create(const std::filesystem::path& path) {
  auto state = std::make_unique<State>();
  state->path = path.string();
  state->gzip = path.extension() == ".gz";
  state->file = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!state->file.valid()) {
    return Fail(ErrorKind::kIo, fmt::format("writing {}: {}", path.string(), std::strerror(errno)));
  }
  if (state->gzip) {
    isal_deflate_init(&state->stream);
    state->level.resize(ISAL_DEF_LVL1_DEFAULT);
    state->stream.level = 1;
    state->stream.level_buf = state->level.data();
    state->stream.level_buf_size = static_cast<uint32_t>(state->level.size());
    state->stream.gzip_flag = IGZIP_GZIP;
    state->packed.resize(kBlock);
  }
  return OutputFile(std::move(state));
}

Result<void> OutputFile::Write(std::string_view text) {
  state_->bytes += text.size();
  state_->pending += text;
  if (state_->pending.size() < kBlock) return {};
  return state_->Flush(false);
}

Result<void> OutputFile::Finish() {
  TRY(state_->Flush(true));
  state_->file = Fd();
  return {};
}

uint64_t OutputFile::bytes() const {
  return state_->bytes;
}

}  // namespace roofmark::trace
