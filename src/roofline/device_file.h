// SPDX-License-Identifier: Apache-2.0
// Device cards as files: devices/<name>.toml holds a device's datasheet peaks, each with its
// source, and beside them what `calibrate` measured on a real one. Adding a device needs no
// recompiling.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/device_card.h"

namespace roofmark::roofline {

// Keys: name, aliases, kind, arch, l2_bytes, [datasheet], [measured]. Either table holds the engine
// names of model/operator.h (operations a second), memory (bytes a second), launch_floor (seconds),
// and for each a <key>_source that must not be empty; [measured] also a note.
// Errors: kInput for an unknown key, a rate that is not positive, a rate without source.
Result<DeviceCard> ParseDeviceCard(const Json& card);

// Errors as above with the file in front, and those of ReadToml.
Result<DeviceCard> ReadDeviceCard(const std::filesystem::path& path);
Result<void> WriteDeviceCard(const std::filesystem::path& path, const DeviceCard& card);
// The TOML text that WriteDeviceCard writes, and the same as a tree; both read back to an equal
// card.
std::string DeviceCardText(const DeviceCard& card);
Json DeviceCardToJson(const DeviceCard& card);

// All *.toml of a folder, sorted by name. Errors: as above; kInput where two cards share a name or
// alias.
Result<std::vector<DeviceCard>> ReadDevices(const std::filesystem::path& folder);

// The card with that name or alias, whatever the case of its letters; nullptr where there is none.
const DeviceCard* FindDevice(std::span<const DeviceCard> cards, std::string_view name);

// Whether a text is a name or alias of the card, or contains one as FindDeviceCard reads it.
bool IsCalled(const DeviceCard& card, std::string_view text);

// A card from DataDir()/devices, by what a person or a driver calls the device: the path of a card
// file, a name or alias, or a text that contains one as whole words ("NVIDIA H200" -> H200; the
// longest wins). A text that also names another variant (PCIe, NVL, MIG) matches only a card that
// does so too, since variants of one model have different rates.
// Errors: kNotFound with the names that exist.
Result<DeviceCard> FindDeviceCard(std::string_view name_or_path);

}  // namespace roofmark::roofline
