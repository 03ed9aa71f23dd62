// SPDX-License-Identifier: Apache-2.0
#include "worker/test_bed.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <numeric>

#include "base/check.h"
#include "candidate/build.h"

namespace roofmark::worker {
namespace {

TempDir MakeFolder() {
  Result<TempDir> folder = TempDir::Make("roofmark-bed");
  CHECK(folder.has_value());
  return std::move(*folder);
}

std::unique_ptr<device::CpuArena> MakeArena(const char* name) {
  const Tensor tensor = {.name = name, .sizes = {TestBed::kElements}};
  auto arena = device::CpuArena::Make(device::LayOut({&tensor, 1}));
  CHECK(arena.has_value());
  return std::move(*arena);
}

float* ValuesOf(device::CpuArena& arena) {
  return reinterpret_cast<float*>(arena.memory().data() + arena.layout().places[0].offset);
}

}  // namespace

Operator ScaleOperator() {
  Operator op;
  op.name = "scale";
  op.summary = "out = factor * x";
  op.axes = {{"n", false}};
  op.attributes = {{"factor", 2.0}};
  op.inputs = {{.name = "x", .dtype = DType::kF32, .sizes = {"n"}}};
  op.outputs = {{.name = "out", .dtype = DType::kF32, .sizes = {"n"}}};
  return op;
}

Json ScaleContract() {
  return Json::MakeObject()
      .Set("inputs", Json::Array{"x"})
      .Set("outputs", Json::Array{"out"})
      .Set("axes", Json::Array{"n"})
      .Set("attributes", Json::Array{"factor"});
}

Json MapRequest(std::string_view name, const device::Arena& arena, std::string_view access) {
  Json tensors = Json::MakeArray();
  for (const device::TensorPlace& place : arena.layout().places) {
    tensors.Push(
        Json::MakeObject()
            .Set("name", place.tensor.name)
            .Set("dtype", DTypeName(place.tensor.dtype))
            .Set("sizes", Json::Array(place.tensor.sizes.begin(), place.tensor.sizes.end()))
            .Set("offset", place.offset));
  }
  return Json::MakeObject()
      .Set("do", "map")
      .Set("arena", name)
      .Set("access", access)
      .Set("bytes", arena.mapped_bytes())
      .Set("tensors", std::move(tensors));
}

TestBed::TestBed(WorkerKind kind, fs::path folder)
    : files_(MakeFolder()), in_(MakeArena("x")), out_(MakeArena("out")) {
  // Below the private folder, these have the permissions that mounts need.
  fs::create_directories(files_.path() / "python");
  fs::create_directories(files_.path() / "scratch");
  spec = {.kind = kind,
          .folder = folder.empty() ? files_.path() / "python" : std::move(folder),
          .scratch = files_.path() / "scratch"};
}

TempDir TestBed::Compile(std::string_view source) {
  const TempDir sources = MakeFolder();
  const TempDir include = MakeFolder();
  TempDir built = MakeFolder();
  const std::string text = "#include \"roofmark/scale.h\"\n" + std::string(source);
  CHECK(WriteFile(sources.path() / "candidate.cc", text).has_value());
  CHECK(WriteFile(include.path() / "roofmark/abi.h", candidate::AbiHeader()).has_value());
  CHECK(WriteFile(include.path() / "roofmark/scale.h", candidate::ContractHeader(ScaleOperator()))
            .has_value());
  const auto compiled =
      RunSandboxed({.argv = {"g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-I/include",
                             "/candidate/candidate.cc", "-o", "/scratch/candidate.so"},
                    .folder = sources.path(),
                    .include = include.path(),
                    .scratch = built.path()});
  if (compiled && !*compiled) std::fprintf(stderr, "%s\n", compiled->error().reason.c_str());
  if (!compiled) std::fprintf(stderr, "%s\n", compiled.error().message().c_str());
  CHECK(compiled.has_value() && compiled->has_value());
  return built;
}

TestBed TestBed::Native(const fs::path& folder, std::string_view trick) {
  TestBed bed(WorkerKind::kNative, folder);
  bed.spec.environment.push_back("TRICK=" + std::string(trick));
  bed.path_ = "/candidate/candidate.so";
  bed.lane_ = "cpp";
  return bed;
}

TestBed TestBed::Python(std::string_view source) {
  TestBed bed(WorkerKind::kPython, {});
  CHECK(WriteFile(bed.spec.folder / "candidate.py", source).has_value());
  bed.path_ = "/candidate/candidate.py";
  bed.lane_ = "torch";
  return bed;
}

Result<Answer<Json>> TestBed::Start(double timeout_s) {
  float* const x = ValuesOf(*in_);
  TRY(in_->Poison());
  TRY(out_->Poison());
  std::iota(x, x + kElements, 0.0F);
  TRY(in_->Seal());
  worker_ = TRY(StartWorker(spec));
  const std::array<int, 1> in_fd = {in_->fd()};
  const std::array<int, 1> out_fd = {out_->fd()};
  Answer<Json> mapped = TRY(worker_->Ask(MapRequest("in", *in_, "r"), timeout_s, in_fd));
  if (!mapped) return mapped;
  mapped = TRY(worker_->Ask(MapRequest("out", *out_, "rw"), timeout_s, out_fd));
  if (!mapped) return mapped;
  return LoadAndInit(timeout_s);
}

Result<Answer<Json>> TestBed::LoadAndInit(double timeout_s) {
  const Answer<Json> loaded = TRY(worker_->Ask(Json::MakeObject()
                                                   .Set("do", "load")
                                                   .Set("path", path_)
                                                   .Set("lane", lane_)
                                                   .Set("entry", "run")
                                                   .Set("contract", ScaleContract()),
                                               timeout_s));
  if (!loaded) return loaded;
  const Json shape = Json::MakeObject().Set("n", kElements).Set("factor", 2.0);
  return worker_->Ask(Json::MakeObject().Set("do", "init").Set("shape", shape), timeout_s);
}

Result<Answer<Json>> TestBed::Reload(std::string_view source) {
  const std::string name = fmt::format("reload{}.py", ++reloads_);
  TRY(WriteFile(spec.folder / name, source));
  path_ = "/candidate/" + name;
  return LoadAndInit(30);
}

Result<Answer<Json>> TestBed::Call(double timeout_s) {
  TRY(out_->Poison());
  return worker_->Ask(
      Json::MakeObject().Set("do", "call").Set("in", "in").Set("out", "out").Set("workspace", ""),
      timeout_s);
}

Mishap TestBed::Fate(double call_timeout_s) {
  for (Result<Answer<Json>> answer : {Start(), Call(call_timeout_s)}) {
    if (!answer) return {.outcome = Outcome::kNotRun, .reason = answer.error().message()};
    if (!*answer) return answer->error();
  }
  return {.outcome = Outcome::kPassed};
}

float* TestBed::out_values() {
  return ValuesOf(*out_);
}

bool TestBed::OutIsRight() {
  const float* const out = out_values();
  for (int64_t i = 0; i < kElements; ++i) {
    if (out[i] != 2.0F * static_cast<float>(i)) return false;
  }
  return true;
}

}  // namespace roofmark::worker
