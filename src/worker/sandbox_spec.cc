// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox_spec.h"

namespace roofmark::worker {
namespace {

Json TextsToJson(const std::vector<std::string>& texts) {
  return Json::Array(texts.begin(), texts.end());
}

Result<std::vector<std::string>> TextsFromJson(const Json& json, std::string_view key) {
  std::vector<std::string> texts;
  for (const Json& text : TRY(json.ArrayAt(key))->array()) {
    if (!text.is_string()) return Fail(ErrorKind::kInput, std::string(key) + ": not a string");
    texts.push_back(text.as_string());
  }
  return texts;
}

}  // namespace

Json SandboxSpecToJson(const SandboxSpec& spec) {
  Json tree = Json::MakeArray();
  for (const TreeEntry& entry : spec.tree) {
    tree.Push(Json::MakeObject()
                  .Set("step", static_cast<int>(entry.step))
                  .Set("source", entry.source)
                  .Set("target", entry.target)
                  .Set("text", entry.text)
                  .Set("bytes", entry.bytes));
  }
  return Json::MakeObject()
      .Set("isolation", static_cast<int>(spec.isolation))
      .Set("tree", std::move(tree))
      .Set("folder", spec.folder)
      .Set("argv", TextsToJson(spec.argv))
      .Set("environment", TextsToJson(spec.environment))
      .Set("device", spec.device)
      .Set("data_bytes", spec.data_bytes)
      .Set("file_bytes", spec.file_bytes)
      .Set("processes", spec.processes)
      .Set("loopback", spec.loopback)
      .Set("user", uint64_t{spec.user});
}

Result<SandboxSpec> SandboxSpecFromJson(const Json& json) {
  SandboxSpec spec;
  spec.isolation = static_cast<Isolation>(TRY(json.Int("isolation")));
  for (const Json& row : TRY(json.ArrayAt("tree"))->array()) {
    spec.tree.push_back({.step = static_cast<TreeStep>(TRY(row.Int("step"))),
                         .source = TRY(row.String("source")),
                         .target = TRY(row.String("target")),
                         .text = TRY(row.String("text")),
                         .bytes = static_cast<uint64_t>(TRY(row.Int("bytes")))});
  }
  spec.folder = TRY(json.String("folder"));
  spec.argv = TRY(TextsFromJson(json, "argv"));
  spec.environment = TRY(TextsFromJson(json, "environment"));
  spec.device = TRY(json.String("device"));
  spec.data_bytes = static_cast<uint64_t>(TRY(json.Int("data_bytes")));
  spec.file_bytes = static_cast<uint64_t>(TRY(json.Int("file_bytes")));
  spec.processes = static_cast<uint64_t>(TRY(json.Int("processes")));
  spec.loopback = TRY(json.Bool("loopback"));
  spec.user = static_cast<uint32_t>(TRY(json.Int("user")));
  return spec;
}

}  // namespace roofmark::worker
