// SPDX-License-Identifier: Apache-2.0
#include "pipeline/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "candidate/build.h"

namespace roofmark::pipeline {
namespace {

constexpr std::array kKeys = {"id",     "operator", "path", "source",  "lane", "name",
                              "shapes", "quick",    "gate", "against", "again"};

Result<void> CheckKeys(const Json& json) {
  for (const auto& [key, unused] : json.object()) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("unknown key \"{}\"; a job has {}", key, fmt::join(kKeys, ", ")));
    }
  }
  return {};
}

Result<std::string> TextOr(const Json& json, std::string_view key, std::string fallback) {
  if (json.Find(key) == nullptr) return fallback;
  return json.String(key);
}

// It becomes the name of a file.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string_view Extension(Lane lane) {
  if (lane == Lane::kCpp) return ".cc";
  return lane == Lane::kCuda ? ".cu" : ".py";
}

Result<void> ReadChoices(const Json& json, Job* job) {
  if (json.Find("shapes") != nullptr) {
    for (const Json& shape : TRY(json.ArrayAt("shapes"))->array()) {
      if (!shape.is_string()) return Fail(ErrorKind::kInput, "shapes: ids are texts");
      job->shapes.push_back(shape.as_string());
    }
  }
  if (json.Find("quick") != nullptr) job->quick = TRY(json.Bool("quick"));
  if (json.Find("again") != nullptr) job->again = TRY(json.Bool("again"));
  if (json.Find("gate") != nullptr) job->gate = TRY(ParseGate(TRY(json.String("gate"))));
  job->against = TRY(TextOr(json, "against", ""));
  return {};
}

}  // namespace

Result<Job> ParseJob(std::string_view line) {
  const Json json = TRY(Json::Parse(line));
  if (!json.is_object()) return Fail(ErrorKind::kInput, "a job is a JSON object");
  TRY(CheckKeys(json));
  Job job{.id = TRY(json.String("id")), .operator_name = TRY(json.String("operator"))};
  job.path = TRY(TextOr(json, "path", ""));
  job.source = TRY(TextOr(json, "source", ""));
  job.name = TRY(TextOr(json, "name", job.name));
  if (job.path.empty() == job.source.empty()) {
    return Fail(ErrorKind::kInput, "a job has either \"path\" or \"source\" with \"lane\"");
  }
  if (!job.source.empty()) job.lane = TRY(ParseLane(TRY(json.String("lane"))));
  if (!IsPlainName(job.name)) {
    return Fail(ErrorKind::kInput, "name: up to 64 letters, digits and underscores");
  }
  TRY(ReadChoices(json, &job));
  return job;
}

Json IdOf(std::string_view line) {
  const Result<Json> json = Json::Parse(line);
  const Json* const id = json && json->is_object() ? json->Find("id") : nullptr;
  return id != nullptr && id->is_string() ? *id : Json();
}

Result<Candidate> CandidateOf(const Job& job, const fs::path& folder) {
  if (job.source.empty()) return candidate::ReadCandidate(job.path);
  const fs::path file = folder / (job.name + std::string(Extension(*job.lane)));
  TRY(WriteFile(file, job.source));
  Candidate candidate = TRY(candidate::ReadCandidate(file));
  candidate.lane = *job.lane;
  return candidate;
}

}  // namespace roofmark::pipeline
