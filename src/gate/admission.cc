// SPDX-License-Identifier: Apache-2.0
#include "gate/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/hash.h"
#include "gate/output_check.h"

namespace roofmark::gate {
namespace {

constexpr const char* kIn = "in";
constexpr const char* kWant = "want";
constexpr const char* kGot = "got";
constexpr const char* kEarlier = "an answer to other inputs";

// The three arenas of one workload, mapped into the reference worker while this lives.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> Open(const Workload& workload, device::Device& device,
                                             Reference& reference) {
    std::unique_ptr<Bench> bench(new Bench(workload, device, reference));
    bench->in_ = TRY(bench->Map(kIn, workload.inputs));
    bench->want_ = TRY(bench->Map(kWant, workload.outputs));
    bench->got_ = TRY(bench->Map(kGot, workload.outputs));
    return bench;
  }
  Result<void> Close() {
    for (const char* name : {kIn, kWant, kGot}) TRY(reference_.Unmap(name));
    return {};
  }

  // Fresh inputs and their expected outputs; before that, the outputs of other inputs in got.
  Result<void> Draw(const std::string& regime) {
    TRY(FillInputs(regime));
    TRY(got_->Poison());
    TRY(reference_.Expected(kIn, kGot, workload_));
    return DrawOnce(regime);
  }
  Result<void> DrawOnce(const std::string& regime) {
    TRY(FillInputs(regime));
    TRY(want_->Poison());
    return reference_.Expected(kIn, kWant, workload_);
  }

  Result<worker::Answer<bool>> Run(const std::string& program) {
    TRY(got_->Poison());
    return reference_.RunProgram(program, kIn, kGot, workload_);
  }

  Result<void> FillInputs(const std::string& regime) {
    const std::array draws = {gate::Draw{.arena = kIn, .seed = RandomSeed()}};
    return reference_.Inputs(draws, workload_, regime);
  }

  // The comparison refuses expected outputs that are not finite.
  Result<void> CompareWantWithItself() {
    for (size_t place = 0; place < workload_.outputs.size(); ++place) {
      const Tolerance& bound = workload_.op->tolerance.find(workload_.outputs[place].name)->second;
      TRY(CompareOutput(device_, *want_, *want_, place, bound));
    }
    return {};
  }

  struct Finding {
    bool within = true;
    double ratio = 0;
  };
  Result<Finding> Compare() {
    Finding finding;
    for (size_t place = 0; place < workload_.outputs.size(); ++place) {
      const Tolerance& bound = workload_.op->tolerance.find(workload_.outputs[place].name)->second;
      const device::Comparison found = TRY(CompareOutput(device_, *got_, *want_, place, bound));
      finding.within =
          finding.within && found.within && found.poisoned == 0 && found.non_finite == 0;
      finding.ratio = std::max(finding.ratio, found.max_ratio);
      if (bound.rel_l2 > 0) finding.ratio = std::max(finding.ratio, found.rel_l2 / bound.rel_l2);
    }
    return finding;
  }

 private:
  Bench(const Workload& workload, device::Device& device, Reference& reference)
      : workload_(workload), device_(device), reference_(reference) {}

  Result<std::unique_ptr<device::Arena>> Map(const char* name, const std::vector<Tensor>& tensors) {
    std::unique_ptr<device::Arena> arena = TRY(device_.MakeArena(device::LayOut(tensors)));
    TRY(arena->Poison());
    TRY(reference_.Map(name, *arena));
    return arena;
  }

  const Workload& workload_;
  device::Device& device_;
  Reference& reference_;
  std::unique_ptr<device::Arena> in_;
  std::unique_ptr<device::Arena> want_;
  std::unique_ptr<device::Arena> got_;
};

void NoteHonest(const Margin& margin, bool within, Admission* admission) {
  ++admission->honest_tried;
  if (within) {
    ++admission->honest_accepted;
  } else {
    admission->faults.push_back(
        fmt::format("honest '{}' is refused under {}: {:.3g} times the bound", margin.program,
                    margin.regime, margin.ratio));
  }
  if (!admission->worst_honest || margin.ratio > admission->worst_honest->ratio) {
    admission->worst_honest = margin;
  }
}

void NoteWrong(const Margin& margin, bool within, Admission* admission) {
  ++admission->wrong_tried;
  if (!within) {
    ++admission->wrong_refused;
  } else {
    admission->faults.push_back(fmt::format("wrong '{}' passes under {}: {:.3g} times the bound",
                                            margin.program, margin.regime, margin.ratio));
  }
  if (!admission->nearest_wrong || margin.ratio < admission->nearest_wrong->ratio) {
    admission->nearest_wrong = margin;
  }
}

bool Tries(const AdmissionProgram& program, const std::string& regime) {
  return program.honest || std::ranges::find(program.regimes, regime) != program.regimes.end();
}

Result<void> TryProgram(Bench& bench, const AdmissionProgram& program, const std::string& regime,
                        Admission* admission) {
  const worker::Answer<bool> applies = TRY(bench.Run(program.name));
  if (!applies) {
    const std::string reason =
        fmt::format("'{}' under {}: {}", program.name, regime,
                    applies.error().reason.substr(0, applies.error().reason.find('\n')));
    const bool memory = applies.error().outcome == Outcome::kOutOfMemory;
    (memory ? admission->not_tried : admission->faults).push_back(reason);
    return {};
  }
  if (!*applies) return {};
  const Bench::Finding finding = TRY(bench.Compare());
  const Margin margin = {.program = program.name, .regime = regime, .ratio = finding.ratio};
  if (program.honest) {
    NoteHonest(margin, finding.within, admission);
  } else {
    ++admission->own_wrong_tried;
    NoteWrong(margin, finding.within, admission);
  }
  return {};
}

Json MarginToJson(const std::optional<Margin>& margin) {
  if (!margin) return {};
  return Json::MakeObject()
      .Set("program", margin->program)
      .Set("regime", margin->regime)
      .Set("ratio", margin->ratio);
}

}  // namespace

Result<Admission> Admit(const Workload& workload, device::Device& device, Reference& reference,
                        const std::vector<std::string>& regimes) {
  const std::vector<AdmissionProgram> programs = TRY(reference.Programs());
  const std::unique_ptr<Bench> bench = TRY(Bench::Open(workload, device, reference));
  Admission admission;
  for (const std::string& regime : regimes) {
    TRY(bench->Draw(regime));
    const Bench::Finding earlier = TRY(bench->Compare());
    NoteWrong({.program = kEarlier, .regime = regime, .ratio = earlier.ratio}, earlier.within,
              &admission);
    for (const AdmissionProgram& program : programs) {
      if (Tries(program, regime)) TRY(TryProgram(*bench, program, regime, &admission));
    }
  }
  if (admission.faults.empty() && (admission.honest_tried == 0 || admission.own_wrong_tried == 0)) {
    admission.faults.emplace_back("no honest or no wrong program of the operator could be tried");
  }
  TRY(bench->Close());
  return admission;
}

Result<void> RunReference(const Workload& workload, device::Device& device, Reference& reference,
                          const std::vector<std::string>& regimes) {
  const std::unique_ptr<Bench> bench = TRY(Bench::Open(workload, device, reference));
  for (const std::string& regime : regimes) {
    TRY(bench->DrawOnce(regime));
    TRY(bench->CompareWantWithItself());
  }
  return bench->Close();
}

Json AdmissionToJson(const Workload& workload, const Admission& admission) {
  return Json::MakeObject()
      .Set("operator", workload.op->name)
      .Set("shape", workload.shape.id)
      .Set("phase", PhaseName(workload.shape.phase))
      .Set("admitted", admission.admitted())
      .Set("honest_tried", admission.honest_tried)
      .Set("honest_accepted", admission.honest_accepted)
      .Set("worst_honest", MarginToJson(admission.worst_honest))
      .Set("wrong_tried", admission.wrong_tried)
      .Set("wrong_refused", admission.wrong_refused)
      .Set("nearest_wrong", MarginToJson(admission.nearest_wrong))
      .Set("faults", Json::Array(admission.faults.begin(), admission.faults.end()))
      .Set("not_tried", Json::Array(admission.not_tried.begin(), admission.not_tried.end()));
}

}  // namespace roofmark::gate
