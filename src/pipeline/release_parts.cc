// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "candidate/build.h"
#include "pipeline/pack_parts_internal.h"
#include "pipeline/release_parts_internal.h"
#include "suite/released_suite.h"

namespace roofmark::pipeline {
namespace {

Json WorkOf(const Workload& workload) {
  Json work = Json::MakeObject();
  for (size_t i = 0; i < kEngineCount; ++i) {
    if (workload.work[i] > 0) work.Set(EngineName(static_cast<Engine>(i)), workload.work[i]);
  }
  return work;
}

// The deployed time on each device; empty where the suite does not tell them apart.
Json DevicesOf(const Workload* workload) {
  Json devices = Json::MakeObject();
  if (workload == nullptr) return devices;
  for (const auto& [device, time] : workload->deployed_by_device) devices.Set(device, time);
  return devices;
}

// How it was drawn; null for what is there for sure.
Json SelectionOf(const suite::Suite& suite, const std::string& id) {
  const auto drawn = suite.draws.find(id);
  if (drawn == suite.draws.end()) return Json();
  return std::move(Json::MakeObject()
                       .Set("probability", drawn->second.probability)
                       .Set("stratum", drawn->second.stratum));
}

}  // namespace

Operator ReleasedOperator(const Operator& op, const suite::Suite& suite) {
  Operator released = op;
  std::erase_if(released.shapes, [&](const Shape& shape) {
    const bool weighed = std::ranges::any_of(suite.workloads, [&](const Workload& workload) {
      return workload.op->name == op.name && workload.shape.id == shape.id;
    });
    return !weighed && shape.tier != Tier::kSmall;
  });
  return released;
}

Result<std::vector<BundleFile>> PublicFiles(const Operator& op) {
  TRY(RefuseImported(op));
  const std::string reference = TRY(ReadFile(op.folder / "reference.py"));
  const std::string folder = "public/operators/" + op.name;
  std::vector<BundleFile> files;
  for (BundleFile& module : TRY(ImportedModules(reference))) {
    files.push_back({.path = "public/" + module.path, .text = std::move(module.text)});
  }
  files.push_back({.path = folder + "/contract.json", .text = ContractText(op)});
  files.push_back({.path = folder + "/reference.py", .text = reference});
  files.push_back({.path = folder + "/shapes.jsonl", .text = PublicShapesText(op)});
  files.push_back({.path = "public/include/roofmark/abi.h", .text = candidate::AbiHeader()});
  files.push_back({.path = fmt::format("public/include/roofmark/{}.h", op.name),
                   .text = candidate::ContractHeader(op)});
  return files;
}

Result<std::vector<BundleFile>> LaneFiles(const fs::path& data) {
  std::vector<BundleFile> files;
  for (const fs::path& rules : TRY(ListFolder(data / "examples/lanes"))) {
    if (rules.extension() != ".md") continue;
    files.push_back(
        {.path = "public/lanes/" + rules.filename().string(), .text = TRY(ReadFile(rules))});
  }
  return files;
}

Result<std::vector<BundleFile>> HiddenFiles(const Operator& op) {
  const std::string folder = "hidden/operators/" + op.name;
  Json card = TRY(ReadToml(op.folder / "operator.toml"));
  std::erase_if(card.object(),
                [](const Json::Member& member) { return member.first == "weight_published"; });
  std::vector<BundleFile> files;
  files.push_back({.path = folder + "/card.json", .text = card.Dump(2) + "\n"});
  for (const char* name : {"shapes.jsonl", "variants.py"}) {
    if (!fs::exists(op.folder / name)) continue;
    files.push_back({.path = folder + "/" + name, .text = TRY(ReadFile(op.folder / name))});
  }
  if (!fs::exists(op.folder / "variants.py")) return files;
  for (BundleFile& module : TRY(ImportedModules(files.back().text))) {
    files.push_back({.path = "hidden/" + module.path, .text = std::move(module.text)});
  }
  return files;
}

std::string WorkloadsText(const suite::Suite& suite) {
  std::string text;
  for (const Workload& workload : suite.workloads) {
    text += Json::MakeObject()
                .Set("workload", workload.Id())
                .Set("tier", TierName(workload.shape.tier))
                .Set("phase", PhaseName(workload.shape.phase))
                .Set("hidden", workload.shape.hidden)
                .Set("work", WorkOf(workload))
                .Set("read_bytes", workload.traffic.read_bytes)
                .Set("write_bytes", workload.traffic.write_bytes)
                .Set("axes", AxesToJson(workload.shape.axes))
                .Dump();
    text += '\n';
  }
  return text;
}

std::string WeightsText(const suite::Suite& suite, const std::vector<std::string>& workloads,
                        const Version& version, const std::string& date) {
  Json rows = Json::MakeArray();
  for (const std::string& id : workloads) {
    const auto found = std::ranges::find(suite.workloads, id, &Workload::Id);
    const bool weighed = found != suite.workloads.end();
    const Weight weight =
        weighed ? found->weight : Weight{.provenance = "not in the suite " + suite.name};
    rows.Push(Json::MakeObject()
                  .Set("workload", id)
                  .Set("value", weight.value)
                  .Set("low", weight.low)
                  .Set("high", weight.high)
                  .Set("label", WeightLabelName(weight.label))
                  .Set("deployed_ns", weighed ? found->deployed_ns : 0)
                  .Set("deployed_ns_by_device", DevicesOf(weighed ? &*found : nullptr))
                  .Set("selection", SelectionOf(suite, id))
                  .Set("provenance", weight.provenance));
  }
  return Json::MakeObject()
             .Set("format", suite::kWeightsFormat)
             .Set("suite", suite.name)
             .Set("version", VersionText(version))
             .Set("date", date)
             .Set("workloads", std::move(rows))
             .Dump(1) +
         "\n";
}

}  // namespace roofmark::pipeline
