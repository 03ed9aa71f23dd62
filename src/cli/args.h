// SPDX-License-Identifier: Apache-2.0
// What each verb was asked to do, as plain data. command_line.cc fills these from argv and is the
// only file that knows the command-line library.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace roofmark::cli {

namespace fs = std::filesystem;

enum class Format { kText, kJson };

struct MineArgs {
  std::vector<fs::path> profiles;  // files, folders, or manifests (.csv)
  fs::path out;                    // aggregate to write; empty = none
  bool unknown = false;            // list what no rule claims
  bool merge = false;              // `profiles` are aggregates: fold them
  std::string on = "threads";      // where: "threads", "processes", "slurm"
  size_t parts = 0;                // processes, slurm: how many; 0 = as many as files, at most 256
  std::string slurm;               // further options for sbatch
  bool part = false;               // `profiles` is a part to do, as MineElsewhere asks
  size_t most_shapes = 0;          // merge: of an operator in a profile; 0 = as they are
  std::vector<std::string> without;  // merge: hashes or aggregates to take out
  bool check = false;                // say what each profile lacks instead of mining
  std::string explain;               // part of kernels' names to explain instead; empty = none
  Format format = Format::kText;
};

struct GenerateArgs {
  fs::path profile;          // to replicate; empty with `fleet`
  std::string size = "1GB";  // of the replicated profile, before compression
  bool one_line = false;     // as tools rewrite profiles
  bool fleet = false;
  size_t profiles = 1303;  // of the fleet
  size_t applications = 20;
  uint64_t seed = 1;
  uint64_t recording = 0;  // of the fleet
  fs::path out;
  Format format = Format::kText;
};

// Which workloads a verb works on.
struct Selection {
  std::vector<std::string> operators;  // empty = all
  std::vector<std::string> shapes;     // ids; empty = all of the tier
  std::string tier;                    // empty = the verb's default
  fs::path
      suite;  // a shipped suite by name, or what `suite build` wrote; empty = published weights
  fs::path operators_folder;  // written by `suite import`; empty = the shipped ones
};

struct SuiteArgs {
  std::string action;  // "list", "show", "build", "diff", "import", "lint", "release", "verify"
  std::string name;    // operator or suite to show, aggregate to build from, what to import,
                       // suite to lint or to release, release to verify
  fs::path out;        // suite weights, lint's findings, or folder of a release or an import
  std::string format_of_source = "auto";  // import
  std::string other;                      // diff: the newer aggregate
  size_t shapes_wanted = 0;               // build: 0 = all
  double coverage = 0.9;                  // build: of each operator and phase, for sure
  uint64_t seed = 1;                      // build, diff: of draws and permutations
  bool busy = false;                      // build: weigh by busy, not by paid card time
  bool impute = false;                    // build: spread time without a shape
  fs::path previous;                      // build: the suite that it follows; empty = none
  fs::path smooth;                        // build: aggregate of an earlier window; empty = none
  std::optional<double> new_weight;       // build: of the newer window; absent = by variances
  std::string phase_mix;                  // build: "prefill=0.3,decode=0.7"; empty = as mined
  fs::path judged;                        // build: store of earlier rounds; empty = none
  fs::path rotation;                      // build: where a secret second draw goes; empty = none
  fs::path stubs;                         // build: where cards to fill in go; empty = none
  std::string version;               // release: X.Y.Z; empty = the next patch, for weights only
  bool weights_only = false;         // release: refresh the weights of the one that is there
  Selection selection;               // lint: which workloads; list and show: folder of operators
  std::string device = "cpu";        // lint: where
  std::vector<std::string> regimes;  // lint: of inputs; empty = all
  bool references_only = false;      // lint: compute expected outputs and nothing else
  Format format = Format::kText;
};

struct RooflineArgs {
  Selection selection;
  std::string device;
  bool published = false;  // from the released W and Q
  bool measured = false;   // against measured ceilings
  bool explain = false;    // only published shapes where ours differs, and why
  Format format = Format::kText;
};

struct CalibrateArgs {
  std::string device;  // "cpu" or "cuda"
  fs::path out;        // device card to write; empty = print
  Format format = Format::kText;
};

struct PackArgs {
  std::string op;
  std::string lane;
  std::string alias;  // the operator's name in the bundle; empty = its own
  fs::path out;
  fs::path check;  // a bundle to check instead of writing one
};

struct CheckArgs {
  fs::path bundle;
  fs::path candidate;
  std::vector<std::string> shapes;  // ids; empty = those that suit the device
  bool all = false;                 // every shape of the bundle
  std::string device;               // "cpu" or "cuda"; empty = where the bundle's lane runs
  Format format = Format::kText;
};

struct JudgeArgs {
  std::vector<fs::path> candidates;
  Selection selection;
  std::string alias;  // what the candidates call the operator (pack --alias); empty = its name
  std::string device = "cpu";
  std::string card;  // device card, by name or path; empty = found by the device's name
  std::string gate = "performance";
  std::string require;  // "ready": the checklist of readiness decides; empty = the gates do
  std::string mode;     // "eager" or "graph"; empty = what each candidate declares
  fs::path against;     // baseline that each candidate is compared with; empty = no comparison
  bool quick = false;
  fs::path dump;
  fs::path store = "roofmark.db";
  bool sanitize = false;  // one more call under compute-sanitizer
  double require_adoption = 0.95;
  bool hold_baselines = false;  // --require-adoption was given: whoever is judged is held to it
  double timeout_s = 20;
  std::vector<fs::path> all;  // folders of candidates, instead of candidates
  bool listen = false;        // jobs as lines on stdin, instead of candidates
  bool again = false;         // judge what the store knows, too
  bool timings = false;       // say where the time went
  std::string regrade;  // a verdict's number, or "all": reproduce instead of judging; empty = judge
  bool no_run = false;  // regrade: compute the numbers anew, and nothing else
  Format format = Format::kText;
};

struct ScoreArgs {
  Selection selection;
  std::string device;
  fs::path store = "roofmark.db";
  std::string kind = "roofmark";  // or "published"
  std::string mode = "eager";     // of the verdicts that count; the modes are never mixed
  bool production = false;        // of the released production latencies instead of verdicts
  std::string export_as;          // "flashinfer-bench" or "kernelbench"; empty = no export
  std::string baseline;           // that speed-ups of an export are against
  fs::path out;                   // file of an export; empty = stdout
  Format format = Format::kText;
};

struct ReportArgs {
  Selection selection;
  std::string device;
  fs::path store = "roofmark.db";
  std::string mode = "eager";
  fs::path aggregate;  // mined totals to show; empty = none
  fs::path out = "report";
  std::string card;
};

struct OptimizeArgs {
  std::string op = "rms_norm";
  fs::path incumbent;
  std::string shape;
  double budget_s = 60;
  double error_rate = 0.05;
  fs::path out;  // where the promoted kernel and the audit trail go
  fs::path store = "roofmark.db";
  Format format = Format::kText;
};

struct DoctorArgs {
  Format format = Format::kText;
};

using Args = std::variant<MineArgs, GenerateArgs, SuiteArgs, RooflineArgs, CalibrateArgs, PackArgs,
                          CheckArgs, JudgeArgs, ScoreArgs, ReportArgs, OptimizeArgs, DoctorArgs>;

// What the command line means, or an exit code where it was answered already (--help, --version: 0;
// a mistake, explained on stderr: 2).
std::variant<Args, int> ParseCommandLine(int argc, char** argv);

// The verbs. Each prints its own output and returns the exit code: 0 done (and passed), 1 judged
// and not passed. Errors end in exit code 3 (2 for kUsage).
Result<int> Mine(const MineArgs& args);
Result<int> Generate(const GenerateArgs& args);
Result<int> MergeAggregates(const MineArgs& args);
Result<int> MineElsewhere(const MineArgs& args);
Result<int> MineOnePart(const MineArgs& args);
Result<int> Suite(const SuiteArgs& args);
Result<int> ReleaseSuite(const SuiteArgs& args);   // its action `release`
Result<int> VerifyRelease(const SuiteArgs& args);  // its action `verify`
Result<int> ImportSuite(const SuiteArgs& args);    // suite import
Result<int> BuildSuite(const SuiteArgs& args);     // suite build
Result<int> DiffSuite(const SuiteArgs& args);      // suite diff
Result<int> Roofline(const RooflineArgs& args);
Result<int> Calibrate(const CalibrateArgs& args);
Result<int> Pack(const PackArgs& args);
Result<int> Check(const CheckArgs& args);
Result<int> Judge(const JudgeArgs& args);
Result<int> Regrade(const JudgeArgs& args);  // judge --regrade
Result<int> Score(const ScoreArgs& args);
Result<int> Report(const ReportArgs& args);
Result<int> Optimize(const OptimizeArgs& args);
Result<int> Doctor(const DoctorArgs& args);

}  // namespace roofmark::cli
