// SPDX-License-Identifier: Apache-2.0
// Source of the format: the safetensors README (8-byte little-endian header length, JSON header,
// tensor bytes back to back).
#include "gate/dump.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "base/files.h"

namespace roofmark::gate {
namespace {

std::string_view SafetensorsType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBF16:
      return "BF16";
    case DType::kF8E4M3Fn:
      return "F8_E4M3";
    case DType::kF8E4M3Fnuz:
      return "U8";  // the format has no fnuz type: the codes, as bytes
    case DType::kI32:
      return "I32";
    case DType::kI64:
      return "I64";
    case DType::kU8:
      return "U8";
  }
  CheckFailed(__FILE__, __LINE__, "dtype is in the enumeration");
}

struct Dump {
  Json header = Json::MakeObject();
  std::string bytes;

  Result<void> Add(const std::string& prefix, device::Arena& arena) {
    for (const device::TensorPlace& place : arena.layout().places) {
      const auto begin = static_cast<int64_t>(bytes.size());
      bytes += TRY(arena.Read(place.offset, place.tensor.Bytes()));
      header.Set(
          prefix + place.tensor.name,
          Json::MakeObject()
              .Set("dtype", SafetensorsType(place.tensor.dtype))
              .Set("shape", Json::Array(place.tensor.sizes.begin(), place.tensor.sizes.end()))
              .Set("data_offsets", Json::Array{begin, static_cast<int64_t>(bytes.size())}));
    }
    return {};
  }
};

}  // namespace

Result<std::string> DumpSlot(Session& session, Contestant& contestant, size_t slot,
                             const std::filesystem::path& folder) {
  Dump dump;
  TRY(dump.Add("in.", session.input(slot)));
  TRY(dump.Add("got.", contestant.output(slot)));
  TRY(dump.Add("want.", session.want()));
  const std::string header = dump.header.Dump();
  std::array<char, 8> length{};
  for (size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>((header.size() >> (8 * i)) & 0xff);
  }
  const fs::path path =
      folder / fmt::format("{}-{}-{}.safetensors", contestant.verdict.operator_name,
                           contestant.verdict.shape,
                           fs::path(contestant.candidate().name).filename().string());
  TRY(WriteFile(path, std::string(length.data(), length.size()) + header + dump.bytes));
  return path.string();
}

}  // namespace roofmark::gate
