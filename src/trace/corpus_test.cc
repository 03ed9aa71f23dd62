// SPDX-License-Identifier: Apache-2.0
// What the fuzzers keep (tests/fuzz/corpus) is read again by every build, with its compiler and by
// the same oracle: also where there is no clang.
#include "base/files.h"
#include "base/testing.h"
#include "model/aggregate.h"
#include "trace/execution_trace.h"
#include "trace/fuzz_checks.h"
#include "trace/manifest.h"
#include "trace/nsys_reader.h"
#include "trace/rocpd_reader.h"
#include "trace/rocprof_csv.h"
#include "trace/rocprof_json.h"

namespace roofmark::trace {
namespace {

const fs::path kCorpus = fs::path(ROOFMARK_SOURCE_DIR) / "tests/fuzz/corpus";

std::vector<std::string> Kept(const char* fuzzer) {
  std::vector<std::string> texts;
  const auto paths = ListFolder(kCorpus / fuzzer);
  EXPECT_THAT(paths, IsOk());
  for (const fs::path& path : paths.value_or(std::vector<fs::path>{})) {
    texts.push_back(ReadFile(path).value());
  }
  EXPECT_GT(texts.size(), 5U) << fuzzer;
  return texts;
}

// CheckProfile aborts where anything does not add up.
void ExpectSound(const Result<Profile>& profile) {
  if (profile) {
    CheckProfile(*profile);
  } else {
    EXPECT_NE(profile.error().message(), "");
  }
}

TEST(Corpus, OfTextsIsSoundToEveryReaderOfTexts) {
  for (const char* fuzzer : {"kineto_fuzz", "byte_source_fuzz", "rocprof_fuzz"}) {
    for (const std::string& text : Kept(fuzzer)) {
      ExpectSound(ReadProfile(ByteSource::FromMemory(text)));
      ExpectSound(ReadRocprofJson(ByteSource::FromMemory(text)));
      ExpectSound(ReadRocprofCsv(ByteSource::FromMemory(text)));
    }
  }
}

TEST(Corpus, OfDatabasesIsSoundToEveryReaderOfDatabases) {
  for (const std::string& bytes : Kept("sqlite_fuzz")) {
    for (auto* read : {&ReadNsys, &ReadRocpd, &ReadRpd}) {
      auto rows = SqliteRows::FromMemory(bytes);
      if (rows) ExpectSound(read(std::move(*rows)));
    }
  }
}

TEST(Corpus, OfTheRestReadsOrSaysWhyNot) {
  for (const std::string& text : Kept("execution_trace_fuzz")) {
    const auto trace = ReadExecutionTrace(ByteSource::FromMemory(text));
    if (trace) {
      EXPECT_LE(trace->by_id.size(), trace->ops.size());
    }
  }
  for (const std::string& text : Kept("aggregate_fuzz")) {
    const auto json = Json::Parse(text);
    if (!json) continue;
    const auto aggregate = Aggregate::FromJson(*json);
    if (!aggregate) continue;
    const auto again = Aggregate::FromJson(aggregate->ToJson());
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(*again, *aggregate);
  }
  for (const std::string& text : Kept("manifest_fuzz")) {
    const auto rows = ParseManifest(text);
    if (!rows) {
      EXPECT_THAT(rows.error().message(),
                  testing::AnyOf(testing::HasSubstr("line "), testing::HasSubstr("empty")));
    }
  }
}

}  // namespace
}  // namespace roofmark::trace
