// SPDX-License-Identifier: Apache-2.0
#include "gate/recompile.h"

#include <fmt/format.h>

#include <memory>
#include <system_error>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "worker/worker.h"

namespace roofmark::gate {
namespace {

constexpr double kTimeoutS = 180;

struct Kernel {
  std::string name;
  std::string sha256;  // of the whole file
};

std::string NotMade(const Kernel& kernel, std::string_view why) {
  return fmt::format(
      "kernel {} is not what Triton's compiler makes of the intermediate code beside it in its "
      "cache ({}): it was not compiled from the source",
      kernel.name, why);
}

// The intermediate code of a cubin: Triton's own, or Gluon's, which begins one stage later.
fs::path IntermediateOf(const fs::path& cubin) {
  for (const char* extension : {".ttir", ".ttgir"}) {
    fs::path ir = fs::path(cubin).replace_extension(extension);
    std::error_code ignored;
    if (fs::is_regular_file(fs::symlink_status(ir, ignored))) return ir;
  }
  return {};
}

Result<void> Copy(const fs::path& from, const fs::path& to) {
  return WriteFile(to, TRY(ReadFile(from)));
}

}  // namespace

Result<std::string> RecompileTriton(const std::map<std::string, fs::path>& files) {
  if (files.empty()) return std::string();
  const TempDir stage = TRY(TempDir::Make("roofmark-recompile"));
  const fs::path scratch = stage.path() / "scratch";
  std::error_code ignored;
  fs::create_directories(scratch, ignored);
  std::vector<Kernel> kernels;
  Json asked = Json::MakeArray();
  for (const auto& [hash, cubin] : files) {
    const std::string number = fmt::format("{}", kernels.size());
    Kernel kernel{cubin.stem().string(), Sha256Hex(TRY(ReadFile(cubin)))};
    const fs::path ir = IntermediateOf(cubin);
    const fs::path options = fs::path(cubin).replace_extension(".json");
    if (ir.empty() || !fs::exists(options)) return NotMade(kernel, "none is there");
    std::error_code error;
    fs::create_directories(stage.path() / "in" / number, error);
    const std::string ir_name = number + "/kernel" + ir.extension().string();
    const std::string options_name = number + "/kernel.json";
    TRY(Copy(ir, stage.path() / "in" / ir_name));
    TRY(Copy(options, stage.path() / "in" / options_name));
    asked.Push(Json::MakeObject()
                   .Set("ir", "/candidate/" + ir_name)
                   .Set("options", "/candidate/" + options_name));
    kernels.push_back(std::move(kernel));
  }
  const std::unique_ptr<worker::Worker> worker =
      TRY_IN(worker::StartWorker({.kind = worker::WorkerKind::kPython,
                                  .device = DeviceKind::kCpu,
                                  .folder = stage.path() / "in",
                                  .scratch = scratch}),
             "starting a worker to compile kernels again");
  const worker::Answer<Json> answer = TRY(worker->Ask(
      Json::MakeObject().Set("do", "recompile").Set("kernels", std::move(asked)), kTimeoutS));
  if (!answer) return NotMade(kernels.front(), answer.error().reason);
  const auto made = answer->ArrayAt("made");
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!made || i >= (*made)->array().size()) return NotMade(kernels[i], "no answer");
    const Json& one = (*made)->array()[i];
    const auto failure = one.String("failure");
    const auto sha256 = one.String("sha256");
    if (!failure || !sha256) return NotMade(kernels[i], "no answer");
    if (!failure->empty()) return NotMade(kernels[i], *failure);
    if (*sha256 != kernels[i].sha256) return NotMade(kernels[i], "its bytes differ");
  }
  return std::string();
}

}  // namespace roofmark::gate
