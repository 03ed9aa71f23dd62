// SPDX-License-Identifier: Apache-2.0
// A contestant's testimony about what it calls: asked for when its verdict is decided, so that the
// reason of a fallback can name the function.
#include <iterator>

#include "gate/called_apis.h"
#include "gate/contestant.h"
#include "gate/ledger.h"

namespace roofmark::gate {

// Null where the call fails: that is no fault of the calls that were judged.
Result<Json> Contestant::AskAside(size_t slot, std::string_view verb, std::string_view phase) {
  if (worker_ == nullptr) return Json();
  const worker::Answer<Json> answer =
      TRY(worker_->Ask(Json::MakeObject()
                           .Set("do", verb)
                           .Set("phase", phase)
                           .Set("in", InputName(slot))
                           .Set("out", OutputName(slot))
                           .Set("workspace", workspace_ ? kWorkspace : ""),
                       call_timeout_s_));
  if (answer) return *answer;
  // The next workload gets a fresh process.
  if (!worker_->alive()) worker_.reset();
  return Json();
}

Result<std::vector<std::string>> Contestant::NameCalls(size_t slot) {
  const Stretch stretch(Part::kAttribution, account());
  std::vector<std::string> names;
  if (device_.kind == DeviceKind::kCuda) {
    const Json watched = TRY(AskAside(slot, "fit", "watch"));
    const Json* const calls = watched.is_object() ? watched.Find("watched") : nullptr;
    if (calls != nullptr && calls->is_object()) names = CalledApis(*calls);
  }
  if (IsNative(candidate_.lane)) return names;
  const Json answer = TRY(AskAside(slot, "apis", ""));
  const Json* const apis = answer.is_object() ? answer.Find("apis") : nullptr;
  if (apis == nullptr || !apis->is_array()) return names;
  for (const Json& name : apis->array()) {
    constexpr size_t kLongest = 100;
    if (name.is_string()) names.push_back(name.as_string().substr(0, kLongest));
  }
  return names;
}

}  // namespace roofmark::gate
