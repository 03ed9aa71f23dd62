// SPDX-License-Identifier: Apache-2.0
#include "agent/live_referee.h"

#include "base/check.h"
#include "candidate/build.h"

namespace roofmark::agent {

Result<std::unique_ptr<LiveReferee>> LiveReferee::Start(const Workload& workload,
                                                        const pipeline::Machine& machine) {
  gate::Reference reference =
      TRY(gate::Reference::Start(*workload.op, machine.device->info().kind));
  return std::unique_ptr<LiveReferee>(new LiveReferee(workload, machine, std::move(reference)));
}

Result<gate::Contestant*> LiveReferee::Place(const std::filesystem::path& file, Seat* seat) {
  if (seat->contestant != nullptr && seat->file == file) {
    seat->contestant->Restart();
    return seat->contestant.get();
  }
  const Candidate candidate = TRY(candidate::ReadCandidate(file));
  seat->contestant = TRY(gate::Contestant::Make(candidate, *workload_.op, machine_.device->info()));
  TRY_IN(seat->contestant->Compile(), "compiling " + candidate.name);
  seat->file = file;
  return seat->contestant.get();
}

Result<Match> LiveReferee::Play(const std::filesystem::path& incumbent,
                                const std::filesystem::path& challenger, Depth depth) {
  gate::Contestant* const first = TRY(Place(incumbent, &seats_[0]));
  gate::Contestant* const second = TRY(Place(challenger, &seats_[1]));
  const gate::Bench bench{*machine_.device, reference_, *machine_.stopwatch};
  const gate::JudgeOptions options{.effort = depth == Depth::kScreen ? gate::Effort::kQuick
                                                                     : gate::Effort::kFull};
  std::vector<Verdict> verdicts = TRY(gate::JudgeWorkload(
      workload_, pipeline::SolOf(workload_, machine_), {first, second}, bench, options));
  CHECK(verdicts.size() == 2);
  return Match{.incumbent = std::move(verdicts[0]), .challenger = std::move(verdicts[1])};
}

}  // namespace roofmark::agent
