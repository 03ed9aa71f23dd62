// SPDX-License-Identifier: Apache-2.0
// roofmark calibrate: measures this machine's ceilings and writes them as a device card. On a GPU
// whose card the project ships, datasheet peaks are kept beside the measured ceilings.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/args.h"
#include "device/calibrate.h"
#include "model/candidate.h"
#include "roofline/device_file.h"

namespace roofmark::cli {
namespace {

DeviceCard CardWith(const device::Calibration& calibration, DeviceKind kind) {
  DeviceCard card{.name = calibration.device_name,
                  .kind = std::string(DeviceKindName(kind)),
                  .arch = calibration.arch,
                  .l2_bytes = calibration.cache_bytes};
  if (auto shipped = roofline::FindDeviceCard(calibration.device_name); shipped) {
    card = std::move(*shipped);
  }
  card.measured = calibration.ceilings;
  card.measured.present = true;
  card.measured_note = calibration.note;
  return card;
}

}  // namespace

Result<int> Calibrate(const CalibrateArgs& args) {
  const DeviceKind kind = TRY(ParseDeviceKind(args.device));
  const device::Calibration calibration =
      TRY(kind == DeviceKind::kCpu ? device::CalibrateCpu() : device::CalibrateCuda());
  const DeviceCard card = CardWith(calibration, kind);
  if (!args.out.empty()) TRY(roofline::WriteDeviceCard(args.out, card));
  if (args.format == Format::kJson) {
    fmt::print("{}\n", roofline::DeviceCardToJson(card).Dump());
  } else if (args.out.empty()) {
    fmt::print("{}", roofline::DeviceCardText(card));
  } else {
    fmt::print("{}: {}; memory {}/s\n", args.out.string(), card.name,
               HumanBytes(card.measured.memory_bytes_per_s));
  }
  return 0;
}

}  // namespace roofmark::cli
