// SPDX-License-Identifier: Apache-2.0
// One measurement at a time on a device: judges of this machine take turns behind a lock on a file
// that is named after the device. The lock is the kernel's (flock), so that it ends with its
// holder, however that ends. Judges in containers that share no lock folder do not see each other.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/owned.h"
#include "base/result.h"
#include "device/device.h"

namespace roofmark::device {

class Lease {
 public:
  // Waits until the lease is free. `waiting` is called once, with who holds it, when that takes
  // longer than `patience_s`. Errors: kIo where no lock file can be made.
  static Result<Lease> Take(const DeviceInfo& device,
                            const std::function<void(const std::string&)>& waiting,
                            double patience_s = 2);
  // The same in a folder of the caller's choice.
  static Result<Lease> TakeIn(const std::filesystem::path& folder, const DeviceInfo& device,
                              const std::function<void(const std::string&)>& waiting,
                              double patience_s);

 private:
  explicit Lease(Fd file) : file_(std::move(file)) {}
  Fd file_;  // closing it lets go
};

}  // namespace roofmark::device
