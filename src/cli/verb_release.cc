// SPDX-License-Identifier: Apache-2.0
// roofmark suite release and suite verify: a suite as two parts with hashes and a version.
#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/args.h"
#include "pipeline/release.h"
#include "suite/from_aggregate.h"
#include "suite/named_suite.h"
#include "suite/suite.h"

namespace roofmark::cli {
namespace {

// By the name of a suite that is shipped (suites/), or a document that `suite build` wrote.
Result<suite::Suite> LoadNamed(const std::string& name) {
  if (name.ends_with(".toml") || TRY(suite::IsNamedSuite(name))) {
    return suite::LoadNamedSuite(name, {});
  }
  if (fs::exists(name)) return suite::LoadWeightedSuite(name, {});
  return Fail(ErrorKind::kNotFound,
              fmt::format("there is no suite '{}': name a shipped one ({}) or a file that `suite "
                          "build` wrote",
                          name, Join(TRY(suite::NamedSuites()), ", ")));
}

void Print(const pipeline::Release& release, Format format) {
  const std::string version = pipeline::VersionText(release.version);
  if (format == Format::kJson) {
    fmt::print("{}\n", Json::MakeObject()
                           .Set("release", release.folder.string())
                           .Set("suite", release.suite)
                           .Set("version", version)
                           .Set("operators", static_cast<int64_t>(release.operators))
                           .Set("workloads", static_cast<int64_t>(release.workloads))
                           .Set("public_sha256", release.public_sha256)
                           .Set("hidden_sha256", release.hidden_sha256)
                           .Set("without_weight", static_cast<int64_t>(release.without_weight))
                           .Dump());
    return;
  }
  fmt::print("{}: suite {} {}, {} operators, {} workloads\n", release.folder.string(),
             release.suite, version, release.operators, release.workloads);
  fmt::print("public {}\nhidden {}\n", release.public_sha256, release.hidden_sha256);
}

// The next patch where none is named.
Result<pipeline::Version> RefreshVersion(const SuiteArgs& args) {
  if (!args.version.empty()) return pipeline::ParseVersion(args.version);
  pipeline::Version version = TRY(pipeline::ReadRelease(args.out)).version;
  ++version.patch;
  return version;
}

}  // namespace

Result<int> ReleaseSuite(const SuiteArgs& args) {
  if (args.name.empty() || args.out.empty() || (args.version.empty() && !args.weights_only)) {
    return Fail(ErrorKind::kUsage,
                "suite release needs a suite, a folder and a version: roofmark suite release "
                "published-440 -o release --version 1.0.0");
  }
  if (!args.version.empty()) {
    const auto version = pipeline::ParseVersion(args.version);
    if (!version) return Fail(ErrorKind::kUsage, "--version: " + version.error().message());
  }
  const suite::Suite suite = TRY(LoadNamed(args.name));
  if (!args.weights_only) {
    const pipeline::Version version = TRY(pipeline::ParseVersion(args.version));
    Print(TRY(pipeline::WriteRelease(suite, version, args.out, TRY(DataDir()))), args.format);
    if (args.format == Format::kText) {
      fmt::print("nothing hidden is in the public part; keep the hidden one to yourself\n");
    }
    return 0;
  }
  const pipeline::Version version = TRY(RefreshVersion(args));
  const pipeline::Release release = TRY(pipeline::RefreshWeights(suite, version, args.out));
  Print(release, args.format);
  if (args.format == Format::kText) {
    fmt::print("only {} is new\n", pipeline::kWeightsFile);
    if (release.without_weight > 0) {
      fmt::print("{} workloads of the release are not in this suite and weigh nothing\n",
                 release.without_weight);
    }
  }
  return 0;
}

Result<int> VerifyRelease(const SuiteArgs& args) {
  if (args.name.empty()) {
    return Fail(ErrorKind::kUsage, "suite verify needs a release: roofmark suite verify release");
  }
  const pipeline::Release release = TRY(pipeline::ReadRelease(args.name));
  const std::vector<pipeline::Finding> findings =
      TRY(pipeline::CheckRelease(args.name, TRY(suite::ReadAllOperators()), TRY(DataDir())));
  for (const pipeline::Finding& finding : findings) {
    if (args.format == Format::kJson) {
      fmt::print("{}\n", Json::MakeObject()
                             .Set("file", finding.file)
                             .Set("line", static_cast<int64_t>(finding.line))
                             .Set("what", finding.what)
                             .Dump());
    } else {
      fmt::print("{}\n", pipeline::FindingText(finding));
    }
  }
  if (findings.empty() || args.format == Format::kText) Print(release, args.format);
  if (args.format == Format::kText) {
    const bool whole = fs::exists(fs::path(args.name) / "hidden");
    fmt::print("{}\n", !findings.empty() ? fmt::format("{} finding{}", findings.size(),
                                                       findings.size() == 1 ? "" : "s")
                       : whole           ? "as released; nothing hidden is in the public part"
                               : "the public part is as released; the hidden part is not here");
  }
  return findings.empty() ? 0 : 1;
}

}  // namespace roofmark::cli
