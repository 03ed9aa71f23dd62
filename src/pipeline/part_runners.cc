// SPDX-License-Identifier: Apache-2.0
// Where parts run: processes of this machine, or a Slurm cluster through its own commands.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "pipeline/mine_parts.h"

namespace roofmark::pipeline {
namespace {

using std::chrono::milliseconds;
constexpr double kForever = 7.0 * 24 * 3600;

class Processes : public PartRunner {
 public:
  explicit Processes(fs::path program) : program_(std::move(program)) {}

  Result<void> Run(const fs::path& folder, const std::vector<size_t>& parts,
                   const std::function<void()>& waiting) override {
    std::atomic<size_t> next = 0;
    std::atomic<size_t> finished = 0;
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const size_t wanted = std::min(cores, parts.size());
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < wanted; ++i) {
      threads.emplace_back([&] {
        for (size_t at = next++; at < parts.size(); at = next++) RunOne(folder, parts[at]);
        ++finished;
      });
    }
    while (finished < wanted) {
      std::this_thread::sleep_for(milliseconds(50));
      if (waiting) waiting();
    }
    return {};
  }

 private:
  void RunOne(const fs::path& folder, size_t part) const {
    const fs::path path = folder / fmt::format("part-{}", part);
    const auto done =
        RunCommand({program_.string(), "mine", "--part", path.string()}, {.timeout_s = kForever});
    // Whether it is done is told by its file; the log helps whoever looks why it is not.
    const std::string log =
        done ? fmt::format("exit code {}\n{}{}", done->exit_code, done->out, done->err)
             : done.error().message() + "\n";
    const Result<void> ignored = WriteFile(path.string() + ".log", log);
  }

  fs::path program_;
};

class Slurm : public PartRunner {
 public:
  Slurm(fs::path program, std::vector<std::string> options)
      : program_(std::move(program)), options_(std::move(options)) {}

  Result<void> Run(const fs::path& folder, const std::vector<size_t>& parts,
                   const std::function<void()>& waiting) override {
    for (size_t at = 0; at < parts.size(); at += kArray) {
      const size_t end = std::min(parts.size(), at + kArray);
      const std::string job = TRY(Submit(folder, {parts.begin() + static_cast<ptrdiff_t>(at),
                                                  parts.begin() + static_cast<ptrdiff_t>(end)}));
      TRY(Wait(job, waiting));
    }
    return {};
  }

 private:
  // Slurm's own default for the largest array is 1001 (MaxArraySize).
  static constexpr size_t kArray = 1000;

  Result<std::string> Submit(const fs::path& folder, const std::vector<size_t>& parts) const {
    std::vector<std::string> numbers;
    for (const size_t part : parts) numbers.push_back(std::to_string(part));
    std::vector<std::string> command = {"sbatch",
                                        "--parsable",
                                        "--job-name=roofmark-mine",
                                        "--array=" + Join(numbers, ","),
                                        "--output=" + (folder / "part-%a.log").string(),
                                        "--chdir=" + folder.string()};
    command.insert(command.end(), options_.begin(), options_.end());
    command.push_back(fmt::format("--wrap=exec '{}' mine --part '{}/part-'$SLURM_ARRAY_TASK_ID",
                                  program_.string(), folder.string()));
    if ((folder.string() + program_.string()).find('\'') != std::string::npos) {
      return Fail(ErrorKind::kInput, "a path with a quote cannot be given to Slurm");
    }
    const CommandResult done =
        TRY_IN(RunCommand(command), "submitting to Slurm (is this a node of a cluster?)");
    if (done.exit_code != 0) {
      return Fail(ErrorKind::kIo, fmt::format("sbatch refused: {}", Trim(done.err)));
    }
    // "123" or "123;cluster".
    const std::string job(Split(Trim(done.out), ';').front());
    TRY_IN(ParseInt(job), "sbatch --parsable printed no job");
    return job;
  }

  // Until no task of the job is pending or running.
  static Result<void> Wait(const std::string& job, const std::function<void()>& waiting) {
    constexpr int kSilence = 600;  // polls without an answer, about ten minutes
    int silent = 0;
    while (true) {
      std::this_thread::sleep_for(milliseconds(1000));
      if (waiting) waiting();
      const auto queue = RunCommand({"squeue", "--noheader", "--jobs", job, "--format=%T"});
      const bool unknown = queue && queue->err.find("Invalid job id") != std::string::npos;
      if (unknown || (queue && queue->exit_code == 0 && Trim(queue->out).empty())) return {};
      silent = queue && queue->exit_code == 0 ? 0 : silent + 1;
      if (silent < kSilence) continue;
      return Fail(
          ErrorKind::kIo,
          fmt::format("squeue has not answered for ten minutes; job {} may still run, and the "
                      "same command goes on where it stopped",
                      job));
    }
  }

  fs::path program_;
  std::vector<std::string> options_;
};

}  // namespace

std::unique_ptr<PartRunner> ProcessRunner(fs::path program) {
  return std::make_unique<Processes>(std::move(program));
}

std::unique_ptr<PartRunner> SlurmRunner(fs::path program, std::vector<std::string> options) {
  return std::make_unique<Slurm>(std::move(program), std::move(options));
}

}  // namespace roofmark::pipeline
