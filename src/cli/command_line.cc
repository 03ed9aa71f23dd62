// SPDX-License-Identifier: Apache-2.0
// The only user of CLI11. Each verb is one function that declares its flags over its argument
// struct; help texts carry an example each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include "base/version.h"
#include "cli/args.h"

namespace roofmark::cli {
namespace {

constexpr const char* kAbout =
    "Roofmark tells whether a GPU kernel is ready for production.\n\n"
    "It mines profiles into weighted workloads, judges a candidate in three gates (compile,\n"
    "correctness, performance), scores it against the hardware's speed of light, and proves "
    "whether\n"
    "the kernel is the candidate's own.\n\n"
    "  roofmark mine examples/profiles -o fleet.json      profiles -> weighted aggregate\n"
    "  roofmark suite build fleet.json -o suite.json      aggregate -> workload weights\n"
    "  roofmark judge my_kernel.cu --operator rms_norm --device cuda\n"
    "  roofmark report -o report\n";

// For counts: CLI11's own check answers with the largest number that a machine can hold.
CLI::Validator AtLeastOne() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
        const bool zero = text.find_first_not_of('0') == text.npos;
        return number && !zero ? std::string() : "must be a whole number from 1 on, not " + text;
      },
      "POSITIVE");
}

// The parsed arguments of whichever verb was chosen.
using Chosen = std::optional<Args>;

template <typename T>
CLI::App* AddVerb(CLI::App* app, Chosen* chosen, const std::shared_ptr<T>& args, const char* name,
                  const char* about, const char* example) {
  CLI::App* verb = app->add_subcommand(name, about);
  verb->footer(std::string("Example:\n  ") + example);
  verb->callback([chosen, args] { *chosen = *args; });
  return verb;
}

void AddJson(CLI::App* verb, Format* format) {
  verb->add_flag_callback(
      "--json", [format] { *format = Format::kJson; }, "one JSON object a line");
}

void AddSelection(CLI::App* verb, Selection* selection) {
  verb->add_option("--operator", selection->operators, "operators, by name (default: all)")
      ->delimiter(',');
  verb->add_option("--shape", selection->shapes, "shapes, by id (default: all of the tier)")
      ->delimiter(',');
  verb->add_option("--tier", selection->tier, "published, corrected, small, imported or all");
  verb->add_option("--suite", selection->suite,
                   "published-440, production-1, a file written by `suite build`, or a release's "
                   "folder");
  verb->add_option("--operators", selection->operators_folder,
                   "folder written by `suite import`, instead of the shipped operators");
}

void AddMine(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<MineArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "mine", "read GPU profiles into a mergeable aggregate",
              "roofmark mine examples/profiles -o fleet.json\n"
              "  roofmark mine --merge june/ july.json --without 3f9c21ab -o fleet.json\n"
              "  roofmark mine manifest.csv --on slurm --slurm '-p cpu' -o fleet.json\n"
              "  roofmark mine --explain rms_norm profile.json.gz");
  verb->add_option("profiles", args->profiles,
                   "profiles (Kineto, Nsight Systems, rocprofv3; plain, .gz, .zst), folders, or a "
                   "manifest (.csv)")
      ->required();
  verb->add_option("-o,--out", args->out, "aggregate to write");
  verb->add_flag("--merge", args->merge, "fold aggregates (files, folders) into one");
  verb->add_option("--without", args->without,
                   "merge: take out a profile (by its sha256), or all of an aggregate")
      ->delimiter(',')
      ->needs("--merge");
  verb->add_option("--most-shapes", args->most_shapes,
                   "merge: keep this many shapes of each operator of a profile, by their time, and "
                   "add the others up (mining itself keeps 4096)")
      ->check(AtLeastOne())
      ->needs("--merge");
  verb->add_option("--on", args->on,
                   "where: threads (default); processes or slurm, in parts that are run again when "
                   "they die")
      ->check(CLI::IsMember({"threads", "processes", "slurm"}));
  verb->add_option("--parts", args->parts,
                   "processes, slurm: how many (default: one a file, at most 256)")
      ->check(AtLeastOne());
  verb->add_option("--slurm", args->slurm, "slurm: further options of sbatch, in one text");
  verb->add_flag("--part", args->part, "")
      ->group("");  // what the parts themselves are started with
  verb->add_flag("--unknown", args->unknown,
                 "list the kernels that no rule claims, largest first, and as rules to finish");
  auto* explain =
      verb->add_option("--explain", args->explain,
                       "instead: which rule claims kernels of this name or operator, why, and "
                       "where their shapes are from");
  verb->add_flag("--check", args->check, "instead: what each profile lacks, and how to record it")
      ->excludes(explain);
  AddJson(verb, &args->format);
}

void AddGenerate(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<GenerateArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "generate", "write profiles whose totals or weights are known",
              "roofmark generate small.json.gz --size 10GB -o big.json\n"
              "  roofmark generate --fleet -o fleet/");
  verb->add_option("profile", args->profile, "Kineto profile to replicate");
  verb->add_option("--size", args->size, "of the replica, before compression (default: 1GB)");
  verb->add_flag("--one-line", args->one_line, "as tools rewrite profiles, on one line");
  verb->add_flag("--fleet", args->fleet, "a whole fleet, its manifest and its true shares");
  verb->add_option("--profiles", args->profiles, "fleet: how many (default: 1303)");
  verb->add_option("--applications", args->applications, "fleet: how many (default: 20)");
  verb->add_option("--seed", args->seed, "fleet: the same seed gives the same (default: 1)");
  verb->add_option("--recording", args->recording,
                   "fleet: another number records the same fleet again (default: 0)");
  verb->add_option("-o,--out", args->out, "file (.gz: compressed), or folder of the fleet")
      ->required();
  AddJson(verb, &args->format);
}

void AddSuiteBuild(CLI::App* verb, SuiteArgs* args) {
  verb->add_option("--shapes", args->shapes_wanted, "build: how many (default: all)")
      ->check(AtLeastOne());
  verb->add_option("--coverage", args->coverage,
                   "build: share of each operator and phase that is in for sure (default: 0.9)")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_option("--seed", args->seed, "build, diff: of draws and permutations (default: 1)");
  verb->add_flag("--busy", args->busy, "build: weigh by busy instead of paid card time");
  verb->add_option(
      "--phase-mix", args->phase_mix,
      "build: weigh phases by another mix than the recorded one, without mining again: "
      "prefill=0.3,decode=0.7 (of the time that these have together)");
  verb->add_option("--previous", args->previous,
                   "build: the suite that this one follows; its shapes keep their ids, and leave "
                   "one refresh later");
  verb->add_option("--smooth", args->smooth,
                   "build: aggregate of an earlier window to average with, by their variances");
  verb->add_option("--new-weight", args->new_weight,
                   "build: with --smooth, how much the newer window counts, instead of by variance")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_option("--judged", args->judged,
                   "build: store of earlier rounds; draws go where attainment varied (Neyman)");
  verb->add_flag("--impute", args->impute,
                 "build: spread an operator's time without a shape over its shapes, by application "
                 "and phase; each weight says how much of it that is");
  verb->add_option("--rotation", args->rotation,
                   "build: also write a second draw with a secret seed into this file");
}

void AddSuiteLint(CLI::App* verb, SuiteArgs* args) {
  verb->add_option("--stubs", args->stubs,
                   "build: write cards to fill in for operators without one, into this folder");
  verb->add_option("--version", args->version, "release: its semantic version, X.Y.Z");
  verb->add_flag("--weights-only", args->weights_only,
                 "release: refresh the weights of the release that is there, and nothing else");
  verb->add_option("--operator", args->selection.operators, "lint: only these operators")
      ->delimiter(',');
  verb->add_option("--shape", args->selection.shapes, "lint: only these shapes")->delimiter(',');
  verb->add_option("--tier", args->selection.tier,
                   "lint: published, corrected, small, imported or all");
  verb->add_option("--device", args->device, "lint: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  verb->add_option("--regime", args->regimes,
                   "lint: typical, heavy_tail, offset (default: these), denormals")
      ->delimiter(',')
      ->check(CLI::IsMember({"typical", "heavy_tail", "offset", "denormals"}));
  verb->add_flag("--references", args->references_only,
                 "lint: only run the references, and time them");
}

void AddSuite(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<SuiteArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "suite",
              "operators and suites: list, show, import, lint, release; weights from "
              "an aggregate, and what changed between two",
              "roofmark suite build fleet.json --shapes 440 -o suite.json\n"
              "  roofmark suite show suite.json\n"
              "  roofmark suite diff june.json july.json\n"
              "  roofmark suite build july.json --previous suite.json --smooth june.json "
              "-o july-suite.json\n"
              "  roofmark suite import KernelBench/level1 -o imported\n"
              "  roofmark suite release published-440 -o release/ --version 1.0.0");
  verb->add_option("action", args->action,
                   "list operators, show one or a suite, build weights, diff two windows of a "
                   "fleet, import another "
                   "benchmark's problems, lint a suite (run its admission programs), release a "
                   "suite in two parts, or verify a release")
      ->required()
      ->check(
          CLI::IsMember({"list", "show", "build", "diff", "import", "lint", "release", "verify"}));
  verb->add_option("name", args->name,
                   "operator or suite to show, aggregate to build from, folder or file to import, "
                   "suite to lint or release, or release to verify");
  verb->add_option("other", args->other, "diff: the newer aggregate");
  AddSuiteBuild(verb, args.get());
  verb->add_option("-o,--out", args->out,
                   "suite to write; for lint, a line per workload; for release and import, the "
                   "folder");
  verb->add_option("--format", args->format_of_source,
                   "import: of the source (default: auto, by what it holds)")
      ->check(CLI::IsMember({"auto", "atrex", "kernelbench", "flashinfer-bench", "sol-execbench"}));
  verb->add_option("--operators", args->selection.operators_folder,
                   "list, show, lint: folder written by `suite import`, instead of the shipped "
                   "operators");
  AddSuiteLint(verb, args.get());
  AddJson(verb, &args->format);
}

void AddRoofline(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<RooflineArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "roofline", "speed-of-light time of each workload on a device",
              "roofmark roofline --operator rms_norm --device H200");
  AddSelection(verb, &args->selection);
  verb->add_option("--device", args->device, "device card, by name or path")->required();
  verb->add_flag("--published", args->published, "use the released W and Q instead of ours");
  verb->add_flag("--measured", args->measured,
                 "against measured ceilings instead of datasheet peaks");
  verb->add_flag("--explain", args->explain,
                 "list the published shapes where ours differs from the release, and why");
  AddJson(verb, &args->format);
}

void AddCalibrate(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<CalibrateArgs>();
  CLI::App* verb = AddVerb(app, chosen, args, "calibrate", "measure a device's ceilings",
                           "roofmark calibrate --device cpu -o this-cpu.toml");
  verb->add_option("--device", args->device, "cpu or cuda")
      ->required()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  verb->add_option("-o,--out", args->out, "device card to write");
  AddJson(verb, &args->format);
}

void AddPack(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<PackArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "pack", "write the sealed bundle of one operator and lane",
              "roofmark pack --operator rms_norm --lane cuda -o bundle/");
  verb->add_option("--operator", args->op, "operator");
  verb->add_option("--lane", args->lane,
                   "cpp, cuda, triton, gluon, cutedsl, tilelang, flydsl or torch");
  verb->add_option("--alias", args->alias, "hide the operator's name behind this one");
  verb->add_option("-o,--out", args->out, "folder to write");
  verb->add_option("--check", args->check, "prove that nothing hidden is in this bundle");
}

void AddCheck(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<CheckArgs>();
  CLI::App* verb = AddVerb(app, chosen, args, "check",
                           "whether a candidate compiles and is right by a sealed bundle; no times",
                           "roofmark check bundle/ my_kernel.cc");
  verb->add_option("bundle", args->bundle, "folder written by `pack`")->required();
  verb->add_option("candidate", args->candidate, "a file, or a folder with candidate.toml")
      ->required();
  verb->add_option("--shape", args->shapes, "shapes, by id (default: small ones on a CPU)")
      ->delimiter(',');
  verb->add_flag("--all", args->all, "every shape of the bundle");
  verb->add_option("--device", args->device, "cpu or cuda (default: where the lane runs)")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  AddJson(verb, &args->format);
}

void AddJudge(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<JudgeArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "judge", "run a candidate through the three gates",
              "roofmark judge candidates/rms_norm/rms_norm.cc --operator rms_norm --quick");
  verb->add_option("candidates", args->candidates, "files, or folders with candidate.toml");
  verb->add_option("--all", args->all,
                   "every candidate below these folders; what the store has verdicts on is left");
  verb->add_flag("--again", args->again, "with --all: judge what the store knows, too");
  verb->add_flag("--listen", args->listen,
                 "read jobs as JSON lines from stdin (docs/automation.md)")
      ->excludes("--all");
  AddSelection(verb, &args->selection);
  verb->add_option("--alias", args->alias, "what the candidates call the operator (pack --alias)");
  verb->add_option("--device", args->device,
                   "cpu, cuda, or GPUs by number (cuda:0; with --all several: cuda:0,cuda:1)");
  verb->add_option("--card", args->card, "device card for attainment, by name or path");
  verb->add_option("--gate", args->gate, "last gate to run")
      ->check(CLI::IsMember({"compile", "correctness", "performance"}));
  verb->add_option("--against", args->against,
                   "compare with this candidate or baseline, measured side by side; exit code 0\n"
                   "then also asks for not slower anywhere and faster in the weighted total");
  verb->add_option("--require", args->require,
                   "exit code 0 only if the kernel is ready: gates, adoption, --against, and fit\n"
                   "for serving; prints a checklist")
      ->check(CLI::IsMember({"ready"}));
  verb->add_option("--mode", args->mode,
                   "time calls of run, or replays of a CUDA graph of it (default: as declared)")
      ->check(CLI::IsMember({"eager", "graph"}));
  verb->add_flag("--quick", args->quick, "three telling shapes, fewer samples");
  verb->add_option("--dump", args->dump, "leave the tensors of failed checks here (safetensors)");
  verb->add_option("--store", args->store, "SQLite store");
  verb->add_option("--timeout", args->timeout_s, "seconds that one call may take")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--sanitize", args->sanitize,
                 "what is right makes one more call under compute-sanitizer (memcheck and\n"
                 "racecheck; --device cuda)");
  verb->add_flag("--timings", args->timings, "say at the end where the time went");
  CLI::Option* regrade =
      verb->add_option("--regrade", args->regrade,
                       "reproduce a verdict of the store by its number, or all, from its archive");
  verb->add_flag("--no-run", args->no_run, "with --regrade: compute the numbers anew, no more")
      ->needs(regrade);
  verb->add_option("--require-adoption", args->require_adoption,
                   "least adoption of a candidate; given, it is asked of files that call\n"
                   "themselves a baseline, too")
      ->check(CLI::Range(0.0, 1.0))
      ->each([args](const std::string& /*value*/) { args->hold_baselines = true; });
  AddJson(verb, &args->format);
}

void AddScore(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<ScoreArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "score", "per-operator and aggregate scores from the store",
              "roofmark score --kind published");
  AddSelection(verb, &args->selection);
  verb->add_option("--device", args->device, "device name as judged (default: the only one)");
  verb->add_option("--store", args->store, "SQLite store");
  verb->add_option("--kind", args->kind, "which score")
      ->check(CLI::IsMember({"roofmark", "published"}));
  verb->add_option("--mode", args->mode, "of verdicts by calls, or by replays of CUDA graphs")
      ->check(CLI::IsMember({"eager", "graph"}));
  verb->add_flag("--production", args->production,
                 "score the production latencies that the release states for --device");
  verb->add_option("--export", args->export_as,
                   "write the verdicts as FlashInfer-Bench traces, or KernelBench's fast_p")
      ->check(CLI::IsMember({"flashinfer-bench", "kernelbench"}))
      ->excludes("--production");
  verb->add_option("--baseline", args->baseline,
                   "baseline that exported speed-ups are against (default: the only one)");
  verb->add_option("-o,--out", args->out, "file of an export (default: stdout)");
  AddJson(verb, &args->format);
}

void AddReport(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<ReportArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "report", "one page with plots, the same as Markdown and as JSON",
              "roofmark report -o report");
  AddSelection(verb, &args->selection);
  verb->add_option("--device", args->device, "device name as judged (default: the only one)");
  verb->add_option("--store", args->store, "SQLite store");
  verb->add_option("--aggregate", args->aggregate, "aggregate written by `mine`, for its totals");
  verb->add_option("--card", args->card, "device card whose roof is drawn");
  verb->add_option("--mode", args->mode, "of verdicts by calls, or by replays of CUDA graphs")
      ->check(CLI::IsMember({"eager", "graph"}));
  verb->add_option("-o,--out", args->out, "folder to write");
}

void AddOptimize(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<OptimizeArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "optimize", "improve a kernel; promote only on a paired test",
              "roofmark optimize candidates/rms_norm/rms_norm_naive.cc --operator rms_norm");
  verb->add_option("incumbent", args->incumbent, "the kernel to improve")->required();
  verb->add_option("--operator", args->op, "its operator");
  verb->add_option("--shape", args->shape,
                   "shape to optimise for (default: the heaviest small one)");
  verb->add_option("--budget", args->budget_s, "seconds")->check(CLI::PositiveNumber);
  verb->add_option("--error-rate", args->error_rate, "probability of a wrong promotion")
      ->check(CLI::Range(0.0001, 0.5));
  verb->add_option("-o,--out", args->out, "folder for the promoted kernel and the audit trail");
  verb->add_option("--store", args->store, "SQLite store");
  AddJson(verb, &args->format);
}

void AddDoctor(CLI::App* app, Chosen* chosen) {
  auto args = std::make_shared<DoctorArgs>();
  CLI::App* verb =
      AddVerb(app, chosen, args, "doctor",
              "what this machine can do, and how to get what is missing", "roofmark doctor");
  AddJson(verb, &args->format);
}

}  // namespace

std::variant<Args, int> ParseCommandLine(int argc, char** argv) {
  Chosen chosen;
  CLI::App app(kAbout, "roofmark");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("roofmark {}", kVersion));
  for (const auto add : {AddMine, AddGenerate, AddSuite, AddRoofline, AddCalibrate, AddPack,
                         AddCheck, AddJudge, AddScore, AddReport, AddOptimize, AddDoctor}) {
    add(&app, &chosen);
  }
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(verbs, [&](const CLI::App* verb) {
        return verb->get_name() == argv[1];
      })) {
    std::fprintf(stderr, "roofmark: there is no verb '%s'; `roofmark --help` lists them\n",
                 argv[1]);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return *chosen;
}

}  // namespace roofmark::cli
