// SPDX-License-Identifier: Apache-2.0
// Files that are read without a copy: the same bytes, and no crash where they go away.
#include "trace/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "base/files.h"
#include "base/owned.h"
#include "base/testing.h"
#include "trace/event_splitter.h"
#include "trace/profile.h"
#include "trace/window.h"

namespace roofmark::trace {
namespace {

constexpr size_t kSize = 3 << 20;

std::string Events(size_t size) {
  std::string text = "{\"traceEvents\": [";
  for (int i = 0; text.size() < size; ++i) {
    text += fmt::format(
        "{}\n  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k{}\", \"pid\": 0, \"tid\": "
        "7,\n    \"ts\": {}, \"dur\": 3,\n    \"args\": {{\n      \"device\": 0, \"stream\": 7\n"
        "    }}\n  }}",
        i == 0 ? "" : ",", i % 5, 10 * i);
  }
  return text + "\n]}";
}

class MappedFiles : public testing::Test {
 protected:
  fs::path Write(std::string_view text) {
    const fs::path path = folder_.path() / "file.json";
    EXPECT_THAT(WriteFile(path, text), IsOk());
    return path;
  }
  TempDir folder_ = TempDir::Make("mapped").value();
};

TEST_F(MappedFiles, ReadAsTheirCopies) {
  for (const size_t size : {kSize, kSize + 12345, size_t{1} << 20}) {
    const std::string text = Events(size);
    const auto copied = ReadProfile(ByteSource::FromMemory(text));
    const auto mapped = ReadProfile(Write(text));
    ASSERT_THAT(copied, IsOk());
    ASSERT_THAT(mapped, IsOk());
    EXPECT_EQ(ContentHash(*mapped), ContentHash(*copied));
    EXPECT_EQ(mapped->loss.split, SplitLoss{});
    EXPECT_EQ(mapped->bytes, text.size());
    EXPECT_EQ(mapped->stored_bytes, text.size());
  }
}

TEST_F(MappedFiles, GiveZerosForWhatIsGone) {
  const Fd file(::open(Write(std::string(kSize, 'x')).c_str(), O_RDWR | O_CLOEXEC));
  const auto mapped = MappedFile::Map(file.get(), kSize);
  ASSERT_NE(mapped, nullptr);
  ASSERT_TRUE(mapped->Slide(0, kSize / 2));
  EXPECT_EQ(mapped->data()[kSize / 2 - 1], 'x');
  ASSERT_EQ(::ftruncate(file.get(), 8192), 0);
  EXPECT_EQ(mapped->data()[8191], 'x');
  EXPECT_FALSE(mapped->shrank());
  EXPECT_EQ(mapped->data()[kSize / 4], '\0');
  EXPECT_EQ(mapped->data()[kSize - 1], '\0');
  EXPECT_TRUE(mapped->shrank());
  EXPECT_FALSE(mapped->Slide(kSize / 4, kSize));
}

TEST_F(MappedFiles, AreNoPipesOrFolders) {
  const Fd folder(::open(folder_.path().c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(MappedFile::Map(folder.get(), 4096), nullptr);
}

// Does something in the middle of reading.
class Interrupting : public EventSink {
 public:
  Interrupting(int at, std::function<void()> what) : at_(at), what_(std::move(what)) {}
  Taken TakeEvent(std::string_view /*event*/, Extent /*extent*/) override {
    if (++taken_ == at_) what_();
    return Taken::kKept;
  }
  void TakeMember(std::string_view /*key*/, std::string_view /*value*/) override {}
  int taken() const { return taken_; }

 private:
  int at_;
  std::function<void()> what_;
  int taken_ = 0;
};

TEST_F(MappedFiles, ThatShrinkWhileTheyAreReadAreCutAndSaidToBe) {
  const std::string text = Events(kSize);
  for (const int at : {1, 3000, 9000}) {
    const fs::path path = Write(text);
    ByteSource source = ByteSource::OpenFile(path).value();
    Interrupting sink(at, [&] { fs::resize_file(path, 100'000); });
    EventSplitter splitter(source, sink);
    ASSERT_THAT(splitter.Run(), IsOk());
    EXPECT_GE(sink.taken(), at);
    EXPECT_TRUE(splitter.loss().truncated || splitter.loss().damaged_events > 0);
  }
}

}  // namespace
}  // namespace roofmark::trace
