// SPDX-License-Identifier: Apache-2.0
// Rules and cards are data of two folders that have to speak one language: a recipe for an axis
// that the card calls otherwise would keep its operator out of every suite, and a type for a tensor
// that the card calls otherwise would let any type in.
#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/testing.h"
#include "suite/suite.h"

namespace roofmark::pipeline {
namespace {

const fs::path kSource = ROOFMARK_SOURCE_DIR;

// What an operator of a framework does not record, and nobody can tell: its time is shown as
// "axis ... not recorded".
const std::set<std::string> kNotRecorded = {"vllm.toml SortTokens experts",
                                            "vllm.toml SortTokens block_size",
                                            "vllm.toml SortTokens skew",
                                            "vllm.toml _C::per_token_group_fp8_quant group",
                                            "sglang_aiter.toml sglang::store_cache kv_heads",
                                            "sglang_aiter.toml sglang::store_cache head_size",
                                            "sglang_aiter.toml sglang::store_cache page_size"};

std::string NameOf(const Json& rule) {
  const Json* name = rule.Find("name");
  if (name == nullptr) name = rule.Find("starts_with");
  return name->is_array() ? name->array()[0].as_string() : name->as_string();
}

bool HasTensor(const std::vector<TensorSpec>& tensors, std::string_view name) {
  return std::ranges::find(tensors, name, &TensorSpec::name) != tensors.end();
}

class RulesAndCards : public testing::Test {
 protected:
  // Calls visit(file, rule, card) for the rules that give sizes or types to an operator with a
  // card.
  template <typename Visit>
  void ForEachRule(const char* table, Visit visit) const {
    const std::vector<fs::path> files = ListFolder(kSource / "rules").value();
    for (const fs::path& path : files) {
      const Json document = ReadToml(path).value();
      if (document.Find(table) == nullptr) continue;
      for (const Json& rule : document.Find(table)->array()) {
        const auto card = std::ranges::find(operators_, *rule.String("operator"),
                                            [](const auto& op) { return op->name; });
        if (card != operators_.end()) visit(path.filename().string(), rule, **card);
      }
    }
  }

  std::vector<std::unique_ptr<const Operator>> operators_ =
      suite::ReadOperators(kSource / "operators").value();
};

TEST_F(RulesAndCards, HaveTheSameAxes) {
  std::set<std::string> missing;
  int rules = 0;
  ForEachRule("op", [&](const std::string& file, const Json& rule, const Operator& card) {
    if (rule.Find("axes") == nullptr) return;
    ++rules;
    for (const auto& [axis, is_list] : card.axes) {
      const bool chooses_type = std::ranges::any_of(card.inputs, [&](const TensorSpec& input) {
        return input.dtype_axis == axis && rule.Find("dtypes") != nullptr &&
               rule.Find("dtypes")->Find(input.name) != nullptr;
      });
      const bool length = is_list && rule.Find("lengths") != nullptr;
      if (rule.Find("axes")->Find(axis) == nullptr && !length && !chooses_type) {
        missing.insert(file + " " + NameOf(rule) + " " + axis);
      }
    }
  });
  EXPECT_GT(rules, 40);
  EXPECT_EQ(missing, kNotRecorded);
}

TEST_F(RulesAndCards, HaveTheSameTensors) {
  for (const char* table : {"op", "kernel"}) {
    ForEachRule(table, [&](const std::string& file, const Json& rule, const Operator& card) {
      const Json* dtypes = rule.Find("dtypes");
      if (dtypes == nullptr) return;
      for (const auto& [tensor, unused] : dtypes->object()) {
        EXPECT_TRUE(HasTensor(card.inputs, tensor) || HasTensor(card.outputs, tensor))
            << file << ": " << card.name << " has no tensor " << tensor;
      }
    });
  }
}

}  // namespace
}  // namespace roofmark::pipeline
