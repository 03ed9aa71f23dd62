// SPDX-License-Identifier: Apache-2.0
// roofmark: one binary over the library. A worker process is the same binary, started by the judge
// with a hidden first argument, so that nothing has to be installed beside it.
#include <cstdio>

#include "cli/args.h"
#include "cli/plain_output.h"
#include "worker/launcher.h"

namespace roofmark::cli {
namespace {

struct Dispatch {
  Result<int> operator()(const MineArgs& args) const { return Mine(args); }
  Result<int> operator()(const GenerateArgs& args) const { return Generate(args); }
  Result<int> operator()(const SuiteArgs& args) const { return Suite(args); }
  Result<int> operator()(const RooflineArgs& args) const { return Roofline(args); }
  Result<int> operator()(const CalibrateArgs& args) const { return Calibrate(args); }
  Result<int> operator()(const PackArgs& args) const { return Pack(args); }
  Result<int> operator()(const CheckArgs& args) const { return Check(args); }
  Result<int> operator()(const JudgeArgs& args) const { return Judge(args); }
  Result<int> operator()(const ScoreArgs& args) const { return Score(args); }
  Result<int> operator()(const ReportArgs& args) const { return Report(args); }
  Result<int> operator()(const OptimizeArgs& args) const { return Optimize(args); }
  Result<int> operator()(const DoctorArgs& args) const { return Doctor(args); }
};

}  // namespace
}  // namespace roofmark::cli

int main(int argc, char** argv) {
  if (const auto code = roofmark::worker::MaybeRunWorker(argc, argv)) return *code;
  roofmark::cli::MakeOutputPlain();
  const auto parsed = roofmark::cli::ParseCommandLine(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const auto result = std::visit(roofmark::cli::Dispatch{}, std::get<roofmark::cli::Args>(parsed));
  if (result) return *result;
  std::fprintf(stderr, "roofmark: %s\n", result.error().message().c_str());
  return result.error().kind() == roofmark::ErrorKind::kUsage ? 2 : 3;
}
