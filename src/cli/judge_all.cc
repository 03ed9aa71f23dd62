// SPDX-License-Identifier: Apache-2.0
// roofmark judge --all: every candidate below some folders. One listening judge a device takes them
// from one queue; a judge that ends early costs the candidate that it had, and is started again.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/line_reader.h"
#include "base/owned.h"
#include "base/text.h"
#include "cli/against_report.h"
#include "cli/devices.h"
#include "cli/judge_modes.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "pipeline/prepare.h"

namespace roofmark::cli {
namespace {

struct Task {
  std::string id;  // also how the summary names it: the candidate's path
  std::string operator_name;
  fs::path path;
};

// A listening judge of one device.
class Child {
 public:
  static Result<Child> Start(const NamedDevice& device, const std::vector<std::string>& words);
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;
  ~Child() { End(); }

  Result<void> Give(const Task& task, const JudgeArgs& args);
  bool open() const { return in_.valid(); }
  void Finish() { in_.reset(); }  // it ends when it has answered everything
  int fd() const { return out_.get(); }
  LineReader& lines() { return *reader_; }
  std::deque<Task>& given() { return given_; }

 private:
  Child(pid_t pid, Fd in, Fd out)
      : pid_(pid),
        in_(std::move(in)),
        out_(std::move(out)),
        reader_(std::make_unique<LineReader>(out_.get(), kMostLineBytes)) {}
  void End();

  static constexpr size_t kMostLineBytes = size_t{64} << 20;
  pid_t pid_ = 0;
  Fd in_;
  Fd out_;
  std::unique_ptr<LineReader> reader_;
  std::deque<Task> given_;
};

Result<Child> Child::Start(const NamedDevice& device, const std::vector<std::string>& words) {
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0) return Fail(ErrorKind::kIo, "cannot make a pipe");
  const Fd child_in(to[0]);
  Fd in(to[1]);
  if (::pipe2(from.data(), O_CLOEXEC) != 0) return Fail(ErrorKind::kIo, "cannot make a pipe");
  Fd out(from[0]);
  const Fd child_out(from[1]);
  std::vector<std::string> args = words;
  args.insert(args.end(),
              {"--listen", "--json", "--device", device.kind == DeviceKind::kCpu ? "cpu" : "cuda"});
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Fail(ErrorKind::kIo, "cannot start another judge");
  if (pid == 0) {
    // Nothing is left of a run whose first process was killed.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(child_in.get(), 0);
    ::dup2(child_out.get(), 1);
    if (!device.visible.empty()) ::setenv("CUDA_VISIBLE_DEVICES", device.visible.c_str(), 1);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  return Child(pid, std::move(in), std::move(out));
}

Result<void> Child::Give(const Task& task, const JudgeArgs& args) {
  Json job = Json::MakeObject()
                 .Set("id", task.id)
                 .Set("operator", task.operator_name)
                 .Set("path", task.path.string())
                 .Set("again", args.again);
  if (!args.against.empty()) job.Set("against", fs::absolute(args.against).string());
  if (!args.selection.shapes.empty()) {
    job.Set("shapes",
            Json(Json::Array(args.selection.shapes.begin(), args.selection.shapes.end())));
  }
  const std::string line = job.Dump() + "\n";
  given_.push_back(task);
  // One that died is noticed where its answers end.
  (void)!::write(in_.get(), line.data(), line.size());
  return {};
}

void Child::End() {
  if (reader_ == nullptr || pid_ <= 0) return;
  in_.reset();
  out_.reset();
  ::kill(pid_, SIGTERM);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

struct Summary {
  size_t candidates = 0;
  size_t verdicts = 0;
  size_t passed = 0;
  size_t skipped = 0;
  size_t baselines = 0;  // verdicts of candidates that are one by their own word
  size_t refused_baselines = 0;
  size_t not_better = 0;  // of those that were compared with a baseline
  std::vector<std::string> errors;
};

class Pool {
 public:
  Pool(const JudgeArgs& args, std::vector<NamedDevice> devices, std::deque<Task> queue,
       std::vector<std::string> words)
      : args_(args),
        devices_(std::move(devices)),
        queue_(std::move(queue)),
        words_(std::move(words)),
        total_(queue_.size()),
        progress_("judging") {
    summary_.candidates = total_;
  }

  Result<Summary> Run() {
    children_.resize(devices_.size());
    while (true) {
      for (size_t i = 0; i < children_.size(); ++i) TRY(Feed(i));
      if (std::ranges::none_of(children_, [](const auto& c) { return c.has_value(); })) break;
      TRY(Hear());
    }
    return summary_;
  }

 private:
  // As many as a judge prepares ahead; started when there is something to do.
  Result<void> Feed(size_t i) {
    std::optional<Child>& child = children_[i];
    if (!child && queue_.empty()) return {};
    if (!child) child = TRY(Child::Start(devices_[i], words_));
    if (!child->open()) return {};
    while (child->given().size() <= pipeline::FieldsAhead(devices_[i].kind) && !queue_.empty()) {
      const Task task = queue_.front();
      queue_.pop_front();
      TRY(child->Give(task, args_));
    }
    if (queue_.empty()) child->Finish();
    return {};
  }

  Result<void> Hear() {
    std::vector<pollfd> polls;
    for (const auto& child : children_) polls.push_back({child ? child->fd() : -1, POLLIN, 0});
    if (::poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR) {
      return Fail(ErrorKind::kIo, "waiting for judges");
    }
    for (size_t i = 0; i < polls.size(); ++i) {
      while (polls[i].revents != 0 && children_[i]) {
        const auto line = TRY(children_[i]->lines().Next(LineReader::Wait::kNo));
        if (line) TRY(Take(i, line->text));
        if (!line && children_[i]->lines().at_end()) Gone(i);
        if (!line) break;
      }
    }
    return {};
  }

  Result<void> Take(size_t i, const std::string& text) {
    const Json line = TRY_IN(Json::Parse(text), "a judge's answer");
    const bool ends = line.Find("done") != nullptr || line.Find("error") != nullptr;
    if (line.Find("timings") != nullptr || args_.format == Format::kJson) {
      fmt::print("{}\n", line.Dump());
    } else if (!ends) {
      const Verdict verdict = TRY(VerdictFromJson(line));
      fmt::print("{}\n", VerdictLine(verdict));
      if (verdict.against) {
        fmt::print("    against {}: {}\n", verdict.against->baseline,
                   AgainstText(*verdict.against));
      }
    }
    if (std::fflush(stdout) != 0) return Fail(ErrorKind::kIo, "nobody reads the verdicts");
    if (!ends) return {};
    std::deque<Task>& given = children_[i]->given();
    const std::string id = given.empty() ? "" : given.front().id;
    if (!given.empty()) given.pop_front();
    if (const Json* const error = line.Find("error")) {
      summary_.errors.push_back(id + ": " + TRY(error->String("message")));
    } else {
      summary_.verdicts += static_cast<size_t>(TRY(line.Int("verdicts")));
      summary_.passed += static_cast<size_t>(TRY(line.Int("passed")));
      summary_.skipped += static_cast<size_t>(TRY(line.Int("skipped")));
      if (const Json* const baselines = line.Find("baselines")) {
        const auto verdicts = static_cast<size_t>(TRY(baselines->Int("verdicts")));
        summary_.baselines += verdicts;
        summary_.refused_baselines += verdicts - static_cast<size_t>(TRY(baselines->Int("passed")));
      }
      TRY(TakeTotal(line, id));
    }
    progress_.Show(++done_, total_, id);
    return {};
  }

  // Of a candidate that was compared with a baseline, on all of its shapes.
  Result<void> TakeTotal(const Json& done, const std::string& id) {
    const Json* const json = done.Find("against");
    if (json == nullptr || json->is_null()) return {};
    const Against total = TRY(AgainstFromJson(*json));
    const bool not_slower = TRY(json->Bool("not_slower_anywhere"));
    if (!not_slower || total.standing != Standing::kFaster) ++summary_.not_better;
    if (args_.format == Format::kText) {
      fmt::print(
          "{}", TotalText(static_cast<size_t>(TRY(json->Int("workloads"))), id, total, not_slower));
    }
    return {};
  }

  // What it was working on is at fault or unlucky; what only waited gets another judge. A device
  // whose judge does not even start takes no more.
  void Gone(size_t i) {
    std::deque<Task> left = std::move(children_[i]->given());
    children_[i].reset();
    if (left.empty()) return;
    summary_.errors.push_back(left.front().id +
                              ": the judge ended before its verdicts were complete; see above");
    ++done_;
    left.pop_front();
    queue_.insert(queue_.begin(), left.begin(), left.end());
  }

  const JudgeArgs& args_;
  std::vector<NamedDevice> devices_;
  std::deque<Task> queue_;
  std::vector<std::string> words_;
  std::vector<std::optional<Child>> children_;
  size_t total_;
  size_t done_ = 0;
  Progress progress_;
  Summary summary_;
};

// candidate.toml may name the operator.
Result<std::string> OperatorOfAny(const fs::path& path, const JudgeArgs& args,
                                  const suite::Suite& suite) {
  const fs::path manifest = path / "candidate.toml";
  if (args.selection.operators.size() != 1 && fs::exists(manifest)) {
    if (const Result<Json> toml = ReadToml(manifest); toml && toml->Find("operator") != nullptr) {
      return toml->String("operator");
    }
  }
  return OperatorOf(path, args, suite);
}

std::vector<std::string> CommandLineOfThisProcess() {
  const Result<std::string> file = ReadFile("/proc/self/cmdline");
  const std::string text = file ? *file : std::string();
  std::vector<std::string> words;
  for (const std::string_view word : Split(text, '\0')) words.emplace_back(word);
  if (!words.empty()) words.pop_back();  // after the last terminator
  return words;
}

}  // namespace

std::vector<fs::path> CandidatesBelow(const fs::path& folder) {
  std::vector<fs::path> found;
  if (fs::exists(folder / "candidate.toml")) return {folder};
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(".") || name.starts_with("__")) continue;
    if (it->is_directory(error)) {
      for (fs::path& below : CandidatesBelow(it->path())) found.push_back(std::move(below));
    } else if (const fs::path kind = it->path().extension();
               kind == ".cc" || kind == ".cpp" || kind == ".cu" || kind == ".py") {
      found.push_back(it->path());
    }
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> WordsForChildren(const std::vector<std::string>& words) {
  // Options of ours, with a value of their own or without; an option's value may be joined by '='.
  constexpr std::array kWithValue = {"--all", "--device", "--against", "--shape"};
  constexpr std::array kFlags = {"--json", "--again", "--listen"};
  std::vector<std::string> kept;
  bool in_list = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string name = word.substr(0, word.find('='));
    if (word.starts_with("--")) in_list = false;
    if (std::ranges::find(kFlags, name) != kFlags.end()) continue;
    if (std::ranges::find(kWithValue, name) != kWithValue.end()) {
      in_list = name == word;
      continue;
    }
    if (!in_list) kept.push_back(word);
  }
  return kept;
}

Result<int> JudgeAll(const JudgeArgs& args) {
  if (!args.candidates.empty()) {
    return Fail(ErrorKind::kUsage, "--all takes folders; leave the other candidates out");
  }
  ::signal(SIGPIPE, SIG_IGN);
  const suite::Suite suite = TRY(LoadSelection(args.selection, "all"));
  std::vector<NamedDevice> devices = TRY(DevicesOf(args.device));
  std::deque<Task> queue;
  std::vector<std::string> left_out;
  for (const fs::path& folder : args.all) {
    if (!fs::is_directory(folder)) {
      return Fail(ErrorKind::kNotFound, folder.string() + ": --all takes a folder of candidates");
    }
    for (const fs::path& path : CandidatesBelow(folder)) {
      const Result<std::string> op = OperatorOfAny(path, args, suite);
      if (!op) {
        left_out.push_back(op.error().message());
        continue;
      }
      queue.push_back({path.string(), *op, fs::absolute(path)});
    }
  }
  std::ranges::stable_sort(queue, {}, &Task::operator_name);  // references stay warm
  Pool pool(args, std::move(devices), std::move(queue),
            WordsForChildren(CommandLineOfThisProcess()));
  const Summary summary = TRY(pool.Run());
  for (const std::string& error : summary.errors) fmt::print(stderr, "error: {}\n", error);
  for (const std::string& message : left_out) fmt::print(stderr, "left out: {}\n", message);
  if (args.format == Format::kText) {
    fmt::print(
        "{} candidates, {} verdicts, {} not passed{}, {} known already, {} errors, {} left "
        "out; kept in {}\n",
        summary.candidates, summary.verdicts, summary.verdicts - summary.passed,
        OfBaselines(summary.baselines, summary.refused_baselines), summary.skipped,
        summary.errors.size(), left_out.size(), args.store.string());
  }
  if (!summary.errors.empty()) return 3;
  const size_t refused = summary.verdicts - summary.passed + summary.refused_baselines;
  return refused == 0 && summary.not_better == 0 ? 0 : 1;
}

}  // namespace roofmark::cli
