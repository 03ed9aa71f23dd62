// SPDX-License-Identifier: Apache-2.0
// Damage: what is whole is kept, what is lost is counted, nothing crashes.
#include "trace/event_splitter.h"

#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/testing.h"
#include "trace/event_head.h"
#include "trace/profile.h"
#include "trace/totals.h"

namespace roofmark::trace {
namespace {

std::string Kernel(int id, std::string_view name = "k") {
  return "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" + std::string(name) +
         "\", \"pid\": 0, \"tid\": 7, \"ts\": " + std::to_string(id * 10) +
         ".5, \"dur\": 2.25, \"args\": {\"External id\": 1, \"device\": 0, \"stream\": 7, "
         "\"correlation\": " +
         std::to_string(id) + "}}";
}

std::string Stack(std::string_view name) {
  return "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" + std::string(name) +
         "\", \"pid\": 1, \"tid\": 1, \"ts\": 1.0, \"dur\": 2.0, \"args\": {\"Python id\": 1}}";
}

std::string Document(const std::vector<std::string>& events) {
  std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [";
  for (size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ", ") + events[i];
  return text + "], \"traceName\": \"x\", \"baseTimeNanoseconds\": 7}";
}

// `text` must live on while the profile is read, and does.
Profile Parse(std::string_view text) {
  Result<Profile> profile = ReadProfile(ByteSource::FromMemory(text));
  EXPECT_THAT(profile, IsOk());
  return std::move(profile).value_or(Profile{});
}

std::vector<std::string> Kernels(int count) {
  std::vector<std::string> events;
  for (int i = 0; i < count; ++i) events.push_back(Kernel(i));
  return events;
}

TEST(EventSplitter, LosesOnlyTheEventWithAnUnescapedQuote) {
  for (const char* name : {"a\"b", "a\"b\"c", "a\"b\"c\"d", "C:\\dir\\"}) {
    SCOPED_TRACE(name);
    std::vector<std::string> events = Kernels(2000);
    events[1000] = Kernel(1000, name);
    const Profile profile = Parse(Document(events));
    EXPECT_EQ(profile.kernels.size(), 1999U);
    EXPECT_GE(profile.loss.split.damaged_events, 1U);
    EXPECT_FALSE(profile.loss.split.truncated);
    EXPECT_EQ(profile.base_ns, 7);
  }
}

TEST(EventSplitter, FindsKernelsBehindADamagedStackFrame) {
  std::vector<std::string> events = Kernels(50);
  events[20] = Stack("lambda \"x");
  events[30] = Stack("lambda \"y");
  const Profile profile = Parse(Document(events));
  EXPECT_EQ(profile.kernels.size(), 48U);
  EXPECT_GE(profile.loss.split.damaged_events, 1U);
}

TEST(EventSplitter, LosesOnlyTheEventThatStopsInTheMiddle) {
  const std::string whole = Kernel(10);
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    std::vector<std::string> events = Kernels(200);
    events[10] = whole.substr(0, cut);
    const Profile profile = Parse(Document(events));
    EXPECT_GE(profile.kernels.size(), 198U) << events[10];
    EXPECT_GE(profile.loss.split.damaged_events, 1U) << events[10];
    EXPECT_EQ(profile.base_ns, 7) << events[10];
  }
}

TEST(EventSplitter, AcceptsEmptyLastEventsAndTrailingCommas) {
  std::vector<std::string> events = Kernels(3);
  events.push_back("{}");
  events.push_back("");
  const Profile profile = Parse(Document(events));
  EXPECT_EQ(profile.kernels.size(), 3U);
  EXPECT_EQ(profile.loss.split, SplitLoss{});
  EXPECT_EQ(profile.base_ns, 7);
}

TEST(EventSplitter, ReadsRawControlCharactersAndForeignBytesInNames) {
  const std::string odd = "a\nb\tc\x01 \xff\xfe \xc3(";
  const std::string text = Document({Kernel(1, odd), Kernel(2, odd), Kernel(3, "a\nb")});
  const Profile profile = Parse(text);
  ASSERT_EQ(profile.kernels.size(), 3U);
  EXPECT_EQ(profile.kernels[0].name, profile.kernels[1].name);
  EXPECT_NE(profile.kernels[0].name, profile.kernels[2].name);
  EXPECT_EQ(profile.text.Text(profile.kernels[2].name), "a\nb");
  EXPECT_EQ(profile.loss.split, SplitLoss{});
}

TEST(EventSplitter, ReadsAroundNumbersThatJsonLacks) {
  std::string event = Kernel(1);
  event.replace(event.find("\"External id\""), 0, "\"bandwidth\": -nan, \"b\": inf, \"c\": NaN, ");
  EXPECT_EQ(Parse(Document({event})).kernels.size(), 1U);
  std::string timeless = Kernel(2);
  timeless.replace(timeless.find("2.25"), 4, "nan");
  const Profile profile = Parse(Document({timeless, Kernel(3)}));
  EXPECT_EQ(profile.kernels.size(), 1U);
  EXPECT_EQ(profile.loss.split.damaged_events, 1U);
}

TEST(EventSplitter, KeepsAbsurdIdentifiersApart) {
  const std::string huge(30, '9');
  std::string first = Kernel(1);
  first.replace(first.find("\"correlation\": 1"), 16, "\"correlation\": " + huge);
  std::string second = Kernel(2);
  second.replace(second.find("\"correlation\": 2"), 16, "\"correlation\": " + huge + "1");
  const Profile profile = Parse(Document({first, second}));
  ASSERT_EQ(profile.kernels.size(), 2U);
  EXPECT_NE(profile.kernels[0].correlation, profile.kernels[1].correlation);
}

TEST(EventSplitter, CountsNegativeAndZeroDurations) {
  std::string negative = Kernel(1);
  negative.replace(negative.find("2.25"), 4, "-3.0");
  std::string zero = Kernel(2);
  zero.replace(zero.find("2.25"), 4, "0");
  const Profile profile = Parse(Document({negative, zero}));
  EXPECT_EQ(profile.kernels.size(), 2U);
  EXPECT_EQ(profile.loss.negative_dur, 1U);
  EXPECT_EQ(profile.loss.zero_dur, 2U);
  EXPECT_EQ(ComputeTotals(profile).sum_kernel_ns, 0);
}

TEST(EventSplitter, ReadsEventsWithMegabytesOfArguments) {
  std::string event = Kernel(1);
  event.replace(event.find("\"External id\""), 0,
                "\"modules\": \"" + std::string(10 << 20, '{') + "\", ");
  const Profile profile = Parse(Document({Kernel(0), event, Kernel(2)}));
  EXPECT_EQ(profile.kernels.size(), 3U);
  EXPECT_EQ(profile.loss.split, SplitLoss{});
}

TEST(EventSplitter, ReadsTheBeginningOfEventsBeyondAllMeasure) {
  std::string event = Kernel(1);
  event.replace(event.find("\"device\""), 0,
                "\"modules\": \"" + std::string(40 << 20, 'x') + "\", ");
  const Profile profile = Parse(Document({Kernel(0), event, Kernel(2)}));
  EXPECT_EQ(profile.events, 3U);
  EXPECT_EQ(profile.kernels.size(), 3U);
  EXPECT_EQ(profile.loss.split.cut_events, 1U);
  EXPECT_EQ(profile.loss.split.damaged_events, 0U);
}

TEST(EventSplitter, ReadsDeeplyNestedArguments) {
  for (const char* pair : {"[]", "{}"}) {
    std::string nest;
    for (int i = 0; i < 3000; ++i) nest += pair[0] == '{' ? "{\"a\": " : "[";
    nest += "1";
    nest += std::string(3000, pair[1]);
    std::string event = Kernel(1);
    event.replace(event.find("\"External id\""), 0, "\"deep\": " + nest + ", ");
    const Profile profile = Parse(Document({Kernel(0), event, Kernel(2)}));
    EXPECT_EQ(profile.events, 3U);
    EXPECT_EQ(profile.kernels.size(), 3U);
  }
}

TEST(EventSplitter, SurvivesUnescapedQuotesInMetadata) {
  std::string text = Document(Kernels(3));
  text.replace(text.find("\"schemaVersion\""), 0, "\"env\": \"{\"A\": \"b\", ");
  const Profile profile = Parse(text);
  EXPECT_EQ(profile.kernels.size(), 3U);
  EXPECT_GE(profile.loss.split.damaged_events, 1U);
}

// The sample cut after each byte, and with bytes changed: it never crashes, and what it keeps is
// never more than there was.
TEST(EventSplitter, SurvivesEveryTruncation) {
  const std::string text =
      ReadFile(fs::path(ROOFMARK_SOURCE_DIR) / "src/trace/testdata/two_steps.json").value();
  const size_t events_at = text.find("\"traceEvents\": [") + 16;
  const size_t events_end = text.find("],\n  \"traceName\"");
  size_t last_kernels = 0;
  for (size_t size = events_at; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    const Result<Profile> profile = ReadProfile(ByteSource::FromMemory(cut));
    ASSERT_THAT(profile, IsOk()) << size;
    EXPECT_EQ(profile->loss.truncated(), size < text.size() - 1) << size;
    EXPECT_GE(profile->kernels.size(), last_kernels) << size;
    last_kernels = profile->kernels.size();
    if (size > events_end) {
      EXPECT_EQ(profile->events, 42U) << size;
    }
  }
  EXPECT_EQ(last_kernels, 13U);
}

TEST(EventSplitter, SurvivesChangedBytes) {
  const std::string text =
      ReadFile(fs::path(ROOFMARK_SOURCE_DIR) / "src/trace/testdata/two_steps.json").value();
  Random random(11);
  constexpr std::string_view kNasty = "\"\\{}[],:\n\0\xff";
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string changed = text;
    const uint64_t changes = 1 + random.Below(4);
    for (uint64_t i = 0; i < changes; ++i) {
      const char byte = random.Below(2) == 0 ? kNasty[random.Below(kNasty.size())]
                                             : static_cast<char>(random.Below(256));
      changed[random.Below(changed.size())] = byte;
    }
    const Result<Profile> profile = ReadProfile(ByteSource::FromMemory(changed));
    if (!profile) continue;
    ++read;
    EXPECT_LE(profile->events, 42U + changes);
    EXPECT_LE(profile->kernels.size(), 13U);
    const Totals totals = ComputeTotals(*profile);
    EXPECT_LE(totals.union_ns, totals.sum_kernel_ns);
    if (profile->kernels.size() + 4 < 13) {
      EXPECT_TRUE(profile->loss.split != SplitLoss{}) << changed;
    }
  }
  EXPECT_GT(read, 2900);
}

TEST(EventHead, ReadsIdleCallsOnlyWhereTheyAreLaidOutAsUsual) {
  const std::string head = R"({"ph": "X", "cat": "cuda_runtime", "name": ")";
  const std::string native =
      "{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaGetDevice\", \"pid\": 1,\n"
      "    \"args\": {\n      \"cbid\": 2, \"correlation\": 41\n    }\n  }";
  IdleCalls calls;
  EXPECT_EQ(calls.Read(native), 41U);
  EXPECT_EQ(calls.Read(head + R"(hipGetDevice", "args": {"cid": 2, "correlation": 92156}})"),
            92156U);
  EXPECT_EQ(calls.Read("{\"cat\": \"cuda_runtime\", \"ph\": \"X\", \"name\": \"cudaGetDevice\", "
                       "\"args\": {\"correlation\": 7}}"),
            7U);
  for (const char* tail :
       {R"(hipGetDevice", "args": {"correlation": 1, "cid": 2}})",
        R"(hipGetDevice", "args": {"correlation": 1}, "x": 2})",
        R"(hipGetDevice", "args": {"correlation": }})",
        R"(hipGetDevice", "args": {"correlation": -1}})",
        R"(hipGetDevice", "args": {"ecorrelation": 1}})", R"(hipGetDevice", "correlation": 12)",
        R"(hipLaunchKernel", "args": {"correlation": 1}})",
        R"(cudaGraphLaunch", "args": {"correlation": 1}})",
        R"(hipStreamBeginCapture", "args": {"correlation": 1}})"}) {
    EXPECT_EQ(calls.Read(head + tail), std::nullopt) << tail;
  }
}

TEST(EventHead, KnowsCategoriesWhateverTheOrderOfKeys) {
  EXPECT_EQ(ReadCategory(R"({"ph": "X", "cat": "kernel", "name": "a"})"), Category::kKernel);
  EXPECT_EQ(ReadCategory(R"({"args": {"cat": "kernel", "x": [1, "}"]}, "cat":"cpu_op","ph":"X"})"),
            Category::kCpuOp);
  EXPECT_EQ(ReadCategory(R"({"name": "a \" b", "cat": "Runtime", "ph": "X"})"), Category::kRuntime);
  EXPECT_EQ(ReadCategory(R"({"ph": "s", "cat": "kernel"})"), Category::kOther);
  EXPECT_EQ(ReadCategory(R"({"ph": "X", "cat": "cuda_sync"})"), Category::kOther);
  EXPECT_EQ(ReadCategory("{}"), Category::kOther);
  EXPECT_EQ(ReadCategory("{\"ph"), Category::kOther);
}

}  // namespace
}  // namespace roofmark::trace
