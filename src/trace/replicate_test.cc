// SPDX-License-Identifier: Apache-2.0
#include "trace/replicate.h"

#include "base/files.h"
#include "base/testing.h"
#include "trace/trace.h"

namespace roofmark::trace {
namespace {

const fs::path kSource = ROOFMARK_SOURCE_DIR;

class Replicate : public testing::Test {
 protected:
  Json Mine(const fs::path& path) {
    const auto summary = MineProfile(path, rules_);
    EXPECT_THAT(summary, IsOk());
    return summary ? summary->json : Json::MakeObject();
  }
  // Whether every total of `made` is k times the original's.
  void ExpectTimes(const fs::path& made, const fs::path& original, int64_t k) {
    const Json one = Mine(original);
    const Json many = Mine(made);
    for (const char* total :
         {"kernels", "sum_kernel_ns", "union_ns", "memcpy", "memcpy_ns", "graph_kernels",
          "kernels_no_runtime", "kernels_extid_op", "kernels_extid_op_shaped", "shaped_ns",
          "user_annotations", "corr_ids_with_many_kernels", "unattributed_ns", "with_shape_ns"}) {
      EXPECT_EQ(many.Find(total)->as_int(), k * one.Find(total)->as_int()) << total;
    }
    EXPECT_EQ(many.Find("names")->as_int(), one.Find("names")->as_int());
    for (const auto& [op, time] : one.Find("operators_ns")->object()) {
      EXPECT_EQ(many.Find("operators_ns")->Find(op)->as_int(), k * time.as_int()) << op;
    }
    EXPECT_EQ(many.Find("loss")->Find("events")->as_int(), 0);
  }
  TempDir folder_ = TempDir::Make("replicate").value();
  Rules rules_ = Rules::Load(kSource / "rules").value();
};

TEST_F(Replicate, MultipliesEveryTotalInEveryLayout) {
  const fs::path original = kSource / "examples/profiles/dense_mixed.json.gz";
  for (const char* name : {"native.json", "native.json.gz", "line.json"}) {
    const fs::path made = folder_.path() / name;
    const auto layout =
        made.filename().string().starts_with("line") ? EventLayout::kOneLine : EventLayout::kNative;
    const auto result = ReplicateProfile(original, made, {.copies = 5, .layout = layout});
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->copies, 5U);
    ExpectTimes(made, original, 5);
  }
}

TEST_F(Replicate, WritesEventsAsKinetoDoesOrOnOneLine) {
  const std::string line = R"({"ph": "X", "name": "a: {\"}, b", "ts": 1.5, "dur": 2, )"
                           R"("args": {"x": [[1, 2], []], "y": {}}})";
  const std::string native =
      "{\n    \"ph\": \"X\", \"name\": \"a: {\\\"}, b\",\n    \"ts\": 1.5, \"dur\": 2,\n"
      "    \"args\": {\n      \"x\": [[1, 2], []], \"y\": {}\n    }\n  }";
  EXPECT_EQ(WithLayout(line, EventLayout::kNative), native);
  EXPECT_EQ(WithLayout(native, EventLayout::kOneLine), line);
  EXPECT_EQ(WithLayout(native, EventLayout::kNative), native);
  EXPECT_EQ(WithLayout("{}", EventLayout::kNative), "{}");
}

TEST_F(Replicate, GrowsToTheSizeThatIsAskedFor) {
  const fs::path original = kSource / "examples/profiles/moe_decode.json.gz";
  const fs::path made = folder_.path() / "big.json";
  const auto result = ReplicateProfile(original, made, {.bytes = 12000000});
  ASSERT_THAT(result, IsOk());
  EXPECT_GE(result->bytes, 12000000U);
  EXPECT_EQ(fs::file_size(made), result->bytes);
  ExpectTimes(made, original, static_cast<int64_t>(result->copies));
}

TEST_F(Replicate, RefusesWhatIsDamagedOrEmpty) {
  const fs::path to = folder_.path() / "out.json";
  ASSERT_THAT(WriteFile(folder_.path() / "cut.json", "{\"traceEvents\": [\n  {\"ph\": \"X\""),
              IsOk());
  ASSERT_THAT(WriteFile(folder_.path() / "none.json", "{\"traceEvents\": []}"), IsOk());
  EXPECT_FALSE(ReplicateProfile(folder_.path() / "cut.json", to, {}).has_value());
  EXPECT_FALSE(ReplicateProfile(folder_.path() / "none.json", to, {}).has_value());
  EXPECT_THAT(ReplicateProfile("/nowhere.json", to, {}),
              HasError(ErrorKind::kNotFound, "/nowhere"));
}

}  // namespace
}  // namespace roofmark::trace
