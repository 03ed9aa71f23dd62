// SPDX-License-Identifier: Apache-2.0
#include "trace/event_walk.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/testing.h"
#include "trace/window.h"

namespace roofmark::trace {
namespace {

auto AllOf(const EventFields& fields) {
  return std::tie(fields.name, fields.pid, fields.tid, fields.ts, fields.dur, fields.external_id,
                  fields.correlation, fields.device, fields.stream, fields.dims, fields.types,
                  fields.concrete, fields.record, fields.kernel);
}

std::string Padded(std::string_view event) {
  return std::string(event) + std::string(Window::kPadding, ' ');
}

// Whether the walk took it; then it must have read what simdjson reads, if it is JSON.
bool Check(UsualEvents& events, EventParser& parser, std::string_view event) {
  const std::string text = Padded(event);
  const std::string_view view = std::string_view(text).substr(0, event.size());
  EventFields walked;
  if (!events.Read(view, ReadCategory(view), walked)) return false;
  if (!Json::Parse(event)) return true;
  EventFields parsed;
  EXPECT_TRUE(parser.ParseAny(view, Extent::kWhole, parsed)) << event;
  EXPECT_EQ(AllOf(walked), AllOf(parsed)) << event;
  return true;
}

std::string Op(int thread, int number) {
  const std::string id = std::to_string(number);
  return "{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 416, "
         "\"tid\": " +
         std::to_string(thread) + ",\n    \"ts\": 2915995397672.5" + id + ", \"dur\": 1" + id +
         ".047,\n    \"args\": {\n      \"External id\": " + id +
         ",\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"[3]\"], \"Input type\": "
         "[\"float\", \"a\\\"]b\"], \"Input Dims\": [[1, 2], [[3], []], []], \"Ev Idx\": " +
         id + "\n    }\n  }";
}

std::string Kernel(int number) {
  const std::string id = std::to_string(number);
  return R"({"ph": "X", "cat": "kernel", "name": "k<1>", "pid": 0, "tid": 7, "ts": 5)" + id +
         R"(, "dur": 3, "args": {"device": 0, "stream": 7, "correlation": )" + id +
         R"(, "grid": [1, 2, 3], "occupancy": {"device": 5, "x": []}, "kind": "Dispatch"}})";
}

// Its lists are those of many others.
std::string Listed(Random& random, int number) {
  const std::string id = std::to_string(number);
  std::string lists;
  for (const char* key : {"Concrete Inputs", "Input type", "Input Strides", "Input Dims"}) {
    if (random.Below(8) == 0) continue;
    const char* const values[] = {"[[1, 2], []]", "[\"\", \"float\"]", "[[1, 3], []]", "[]"};
    lists += std::string(lists.empty() ? "" : ", ") + "\"" + key + "\": " + values[random.Below(4)];
    if (random.Below(16) == 0) lists += ", \"stream\": 7";
  }
  return R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 5)" + id +
         R"(, "dur": 3, "args": {)" + lists + (lists.empty() ? "" : ", ") + R"("Ev Idx": )" + id +
         "}}";
}

// On CPUs that can hop, both ways.
class EventWalk : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !CanHop()) GTEST_SKIP() << "the CPU has no AVX-512";
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, EventWalk, testing::Bool());

TEST_P(EventWalk, ReadsEveryFieldOfUsualEvents) {
  UsualEvents events(GetParam());
  EventParser parser;
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(Check(events, parser, Op(i % 3, i)));
    EXPECT_TRUE(Check(events, parser, Kernel(i)));
  }
  const std::string text = Padded(Op(9, 12));
  EventFields fields;
  ASSERT_TRUE(events.Read(std::string_view(text).substr(0, text.size() - Window::kPadding),
                          Category::kCpuOp, fields));
  EXPECT_EQ(fields.tid, "9");
  EXPECT_EQ(fields.ts, "2915995397672.512");
  EXPECT_EQ(fields.external_id, "12");
  EXPECT_EQ(fields.dims, "[[1, 2], [[3], []], []]");
  EXPECT_EQ(fields.types, R"(["float", "a\"]b"])");
}

TEST_P(EventWalk, LeavesWhatIsUnusualToTheParser) {
  UsualEvents events(GetParam());
  EventParser parser;
  for (const char* event : {
           "",
           "{",
           R"({"name": "a"} )",
           R"({"name": "a",})",
           R"({"name": "a" "ts": 1})",
           R"({"name" : "a"})",
           R"({"name": "a", "ts": })",
           R"({"name": "a)",
           R"({"name": ["a"]})",
           R"({"pid": {"a": 1}})",
           R"({"dims": [1})",
           "{\"name\": \"a\tb\"}",
           "{\"name\": \"a\nb\"}",
           "{\"name\": \"\xc3\xa4\"}",
           "{\"name\": \"\xff\"}",
           R"({"args": {"device": [1]}})",
       }) {
    EXPECT_FALSE(Check(events, parser, event)) << event;
  }
  // The same after such layouts have been learnt.
  EXPECT_TRUE(Check(events, parser, R"({"ph": "X", "args": null, "ts": 1})"));
  EXPECT_FALSE(Check(events, parser, R"({"ph": "X", "args": [1, 2], "ts": 1, "x": })"));
  const std::string text = Padded(R"({"ph": "X", "args": {"device": 1}, "ts": 1})");
  EventFields fields;
  EXPECT_TRUE(events.Read(std::string_view(text).substr(0, text.size() - Window::kPadding),
                          Category::kOther, fields));
  EXPECT_EQ(fields.device, "1");
}

TEST_P(EventWalk, ReadsChangedEventsAsTheParserDoes) {
  UsualEvents events(GetParam());
  EventParser parser;
  Random random(5);
  constexpr std::string_view kBytes = "\"\\{}[]:,a1 \n.-\xc3";
  int walked = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string event = random.Below(2) == 0 ? Op(static_cast<int>(random.Below(3)), round)
                                             : Kernel(static_cast<int>(random.Below(100)));
    const size_t changes = random.Below(3);
    for (size_t i = 0; i < changes; ++i) {
      const size_t at = 1 + random.Below(event.size() - 2);
      if (random.Below(2) == 0) {
        event[at] = kBytes[random.Below(kBytes.size())];
      } else {
        event.erase(at, 1 + random.Below(4));
        event.back() = '}';
      }
    }
    walked += Check(events, parser, event) ? 1 : 0;
  }
  EXPECT_GT(walked, 8000);
}

TEST_P(EventWalk, KnowsListsThatCameBefore) {
  UsualEvents events(GetParam());
  EventParser parser;
  Random random(6);
  std::map<uint32_t, std::vector<std::string>> lists;
  int known = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string event = Listed(random, round);
    if (random.Below(4) == 0) event.erase(1 + random.Below(event.size() - 2), 1);
    if (!Check(events, parser, event)) continue;
    const std::string text = Padded(event);
    const std::string_view view = std::string_view(text).substr(0, event.size());
    EventFields fields;
    if (!events.Read(view, ReadCategory(view), fields) || fields.lists == 0) continue;
    ++known;
    const std::vector<std::string> read = {std::string(fields.dims), std::string(fields.types),
                                           std::string(fields.concrete)};
    EXPECT_EQ(lists.try_emplace(fields.lists, read).first->second, read) << event;
  }
  EXPECT_GT(known, GetParam() ? 5000 : -1);
}

}  // namespace
}  // namespace roofmark::trace
