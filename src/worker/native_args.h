// SPDX-License-Identifier: Apache-2.0
// The argument struct of a native candidate, built at run time to the layout that the generated
// header declares: inputs and outputs as tensor views, then integer axes, then real attributes, all
// in the card's order and all multiples of 8 bytes, so that there is no padding anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "worker/arena_map.h"

namespace roofmark::worker {

struct Contract {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> axes;
  std::vector<std::string> attributes;
};
Result<Contract> ContractFromJson(const Json& json);

// The scalars of the contract in order, as 8 bytes each. Errors: kInput for a missing or ill-typed
// value.
Result<std::vector<uint64_t>> ScalarsOf(const Contract& contract, const Json& shape);

class NativeArgs {
 public:
  // Data pointers come from the arenas `in` and `out`. Errors: kInput for a missing tensor.
  static Result<NativeArgs> Make(const Contract& contract, const std::vector<uint64_t>& scalars,
                                 const MappedArena& in, const MappedArena& out,
                                 int32_t device_type);
  // The same sizes with null data pointers, for init and workspace_bytes.
  static Result<NativeArgs> MakeShapeOnly(const Contract& contract,
                                          const std::vector<uint64_t>& scalars,
                                          const ArenaMap& arenas, int32_t device_type);

  void* data() { return words_.data(); }

 private:
  void AddTensor(const MappedTensor& tensor, char* base, int32_t device_type);

  std::vector<uint64_t> words_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> sizes_;  // sizes, then strides
};

}  // namespace roofmark::worker
