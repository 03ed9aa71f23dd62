// SPDX-License-Identifier: Apache-2.0
#include "gate/contestant.h"

namespace roofmark::gate {

Json ContractOf(const Operator& op) {
  Json::Array inputs;
  Json::Array arguments;
  Json::Array outputs;
  Json::Array axes;
  Json::Array lists;
  Json::Array attributes;
  for (const TensorSpec& tensor : op.inputs) {
    arguments.emplace_back(tensor.name);
    if (!op.IsInPlace(tensor.name)) inputs.emplace_back(tensor.name);
  }
  for (const TensorSpec& tensor : op.outputs) outputs.emplace_back(tensor.name);
  for (const auto& [name, is_list] : op.axes) {
    (is_list ? lists : axes).emplace_back(name);
  }
  for (const Formula& formula : op.derived) axes.emplace_back(formula.name);
  for (const auto& [name, value] : op.attributes) attributes.emplace_back(name);
  return Json::MakeObject()
      .Set("operator", op.name)
      .Set("inputs", std::move(inputs))
      .Set("arguments", std::move(arguments))
      .Set("outputs", std::move(outputs))
      .Set("axes", std::move(axes))
      .Set("lists", std::move(lists))
      .Set("attributes", std::move(attributes));
}

}  // namespace roofmark::gate
