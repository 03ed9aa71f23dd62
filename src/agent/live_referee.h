// SPDX-License-Identifier: Apache-2.0
// The referee that really judges. The reference worker stays warm and a kernel that plays again is
// not compiled again, but every match starts both kernels in fresh processes on fresh inputs.
#pragma once

#include <array>
#include <memory>

#include "agent/referee.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/reference.h"
#include "model/workload.h"
#include "pipeline/evaluate.h"

namespace roofmark::agent {

class LiveReferee : public Referee {
 public:
  // Both are borrowed and must outlive the referee.
  static Result<std::unique_ptr<LiveReferee>> Start(const Workload& workload,
                                                    const pipeline::Machine& machine);

  Result<Match> Play(const std::filesystem::path& incumbent,
                     const std::filesystem::path& challenger, Depth depth) override;

 private:
  // One side of a match; each has its own, since a kernel also plays against itself.
  struct Seat {
    std::filesystem::path file;
    std::unique_ptr<gate::Contestant> contestant;
  };

  LiveReferee(const Workload& workload, const pipeline::Machine& machine, gate::Reference reference)
      : workload_(workload), machine_(machine), reference_(std::move(reference)) {}
  Result<gate::Contestant*> Place(const std::filesystem::path& file, Seat* seat);

  const Workload& workload_;
  const pipeline::Machine& machine_;
  gate::Reference reference_;
  std::array<Seat, 2> seats_;
};

}  // namespace roofmark::agent
