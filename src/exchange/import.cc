// SPDX-License-Identifier: Apache-2.0
#include "exchange/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "exchange/write_operator.h"
#include "suite/expression.h"
#include "worker/worker.h"

namespace roofmark::exchange {
namespace {

constexpr double kSurveyTimeoutS = 120;
// One problem: its inputs of up to 256 MiB are drawn and its reference runs a few times.
constexpr double kDescribeTimeoutS = 300;
constexpr size_t kLongestReason = 400;

constexpr std::array<std::string_view, 3> kFates = {"carried", "changed", "not_carried"};

// The worker in which the foreign files run; a new one after it died.
class Describer {
 public:
  static Result<Describer> Make(fs::path root) {
    return Describer(std::move(root), TRY(TempDir::Make("roofmark-import")));
  }

  // A mishap is the reason why an item is not carried.
  Result<worker::Answer<Json>> Ask(const Json& request, double timeout_s) {
    if (worker_ == nullptr || !worker_->alive()) {
      worker_ = TRY_IN(
          worker::StartWorker(
              {.kind = worker::WorkerKind::kImporter, .folder = root_, .scratch = scratch_.path()}),
          "starting the importer");
    }
    return worker_->Ask(request, timeout_s);
  }

 private:
  Describer(fs::path root, TempDir scratch)
      : root_(std::move(root)), scratch_(std::move(scratch)) {}

  fs::path root_;
  TempDir scratch_;
  std::unique_ptr<worker::Worker> worker_;
};

// The first line of a reason, and the last place in the foreign files that it names.
std::string Shortened(std::string_view reason) {
  const std::vector<std::string_view> lines = Split(Trim(reason), '\n');
  std::string text(lines.front());
  const auto place = std::ranges::find_if(lines.rbegin(), lines.rend() - 1, [](auto line) {
    return line.find("/candidate/") != line.npos;
  });
  if (place != lines.rend() - 1) text += fmt::format(" ({})", Trim(*place));
  if (text.size() > kLongestReason) text = text.substr(0, kLongestReason) + "...";
  return ValidUtf8(text);
}

std::string TextOr(const Json& json, std::string_view key, const std::string& fallback) {
  const Json* const value = json.Find(key);
  return value != nullptr && value->is_string() ? value->as_string() : fallback;
}

// A definition that an import wrote, now or earlier: its operator and its import.json.
struct Known {
  std::string op;
  Json about;
};

class Importer {
 public:
  Importer(const ImportRequest& request, fs::path root, std::string only, Describer describer,
           const std::function<void(const Item&)>& tell)
      : request_(request),
        root_(std::move(root)),
        only_(std::move(only)),
        describer_(std::move(describer)),
        tell_(tell) {}

  Result<ImportReport> Run() {
    const worker::Answer<Json> survey = TRY(describer_.Ask(
        Json::MakeObject().Set("do", "survey").Set("format", request_.format), kSurveyTimeoutS));
    if (!survey) {
      return Fail(ErrorKind::kInput,
                  fmt::format("{}: looking through it failed: {}", request_.source.string(),
                              Shortened(survey.error().reason)));
    }
    for (const Json& item : TRY(survey->ArrayAt("items"))->array()) {
      if (Wanted(item) && TextOr(item, "kind", "") != "solution") TRY(TakeProblem(item));
    }
    for (const Json& item : TRY(survey->ArrayAt("items"))->array()) {
      if (Wanted(item) && TextOr(item, "kind", "") == "solution") TRY(TakeSolution(item));
    }
    TakeNotes(*survey, only_);
    if (report_.items.empty()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("{}: nothing in it is known; known are Atrex-Bench operator "
                              "directories, KernelBench problem files, FlashInfer-Bench and "
                              "SOL-ExecBench definitions with workloads, and solutions of both",
                              request_.source.string()));
    }
    return std::move(report_);
  }

 private:
  // Of a single file, only what it is part of.
  bool Wanted(const Json& item) const {
    if (only_.empty() || TextOr(item, "item", "") == only_) return true;
    const Json* const files = item.Find("files");
    if (files == nullptr || !files->is_object()) return false;
    return std::ranges::any_of(files->object(),
                               [&](const auto& file) { return file.second == Json(only_); });
  }

  void Tell(std::string item, Fate fate, std::string what) {
    report_.items.push_back({.item = std::move(item), .fate = fate, .what = std::move(what)});
    tell_(report_.items.back());
  }

  void TakeNotes(const Json& reply, const std::string& of = "") {
    const Json* const notes = reply.Find("notes");
    if (notes == nullptr || !notes->is_array()) return;
    for (const Json& note : notes->array()) {
      const std::string item = TextOr(note, "item", "");
      if (!of.empty() && item != of) continue;
      const auto fate = std::ranges::find(kFates, TextOr(note, "fate", "not_carried"));
      if (fate == kFates.end()) continue;
      Tell(item, static_cast<Fate>(fate - kFates.begin()), Shortened(TextOr(note, "what", "")));
    }
  }

  std::string FreshName(const std::string& wanted) {
    std::string name = wanted;
    for (int number = 2; !names_.insert(name).second; ++number) {
      name = fmt::format("{}_{}", wanted, number);
    }
    return name;
  }

  Result<void> TakeProblem(Json item) {
    const std::string label = TextOr(item, "item", "?");
    item.Set("name", root_.filename().string());
    const worker::Answer<Json> described = TRY(describer_.Ask(
        Json::MakeObject().Set("do", "describe").Set("item", item), kDescribeTimeoutS));
    if (!described) {
      Tell(label, Fate::kNotCarried, Shortened(described.error().reason));
      return {};
    }
    const Json* const card = described->Find("card");
    const std::string wanted = card == nullptr ? "" : TextOr(*card, "name", "");
    if (!suite::IsUsableName(wanted)) {
      Tell(label, Fate::kNotCarried, "it was described without a usable name");
      return {};
    }
    const std::string name = FreshName(wanted);
    const Result<void> written = WriteOperator(*described, name, root_, request_.out / "operators");
    if (!written) {
      if (written.error().kind() == ErrorKind::kIo) return written;
      Tell(label, Fate::kNotCarried, Shortened(written.error().message()));
      return {};
    }
    report_.operators.push_back(name);
    const size_t shapes = TRY(described->ArrayAt("shapes"))->array().size();
    Tell(label, Fate::kCarried,
         fmt::format("operator {} with {} {}", name, shapes, shapes == 1 ? "shape" : "shapes"));
    TakeNotes(*described);
    return TakeBaseline(*described, label, name);
  }

  // The problem's own implementation, to be timed like any candidate.
  Result<void> TakeBaseline(const Json& described, const std::string& label,
                            const std::string& op) {
    const Json* const baseline = described.Find("baseline");
    if (baseline == nullptr) return {};
    if (const Json* const solution = baseline->Find("solution")) {
      return TakeSolution(Json::MakeObject().Set("item", label).Set("solution", *solution),
                          "baseline");
    }
    const std::string file = TRY(baseline->String("file"));
    const std::string base = fs::path(file).filename().string();
    const std::string text = TRY(ReadFile(TRY(Inside(root_, file))));
    return Write({.name = "reference",
                  .lane = "torch",
                  .role = "baseline",
                  .entry = base + "::" + TRY(baseline->String("entry")),
                  .files = Json::MakeArray().Push(
                      Json::MakeObject().Set("path", base).Set("content", text))},
                 label, op);
  }

  Result<void> Write(const CandidateFiles& files, const std::string& label, const std::string& op) {
    const Result<void> written =
        WriteCandidate(files, request_.out / "candidates" / op / files.name);
    if (!written) {
      if (written.error().kind() == ErrorKind::kIo) return written;
      Tell(label, Fate::kNotCarried,
           fmt::format("{} {}: {}", files.role, files.name, Shortened(written.error().message())));
      return {};
    }
    report_.candidates.push_back(op + "/" + files.name);
    return {};
  }

  // The operator made of a definition; of several that were imported, the first by name.
  std::optional<Known> Find(const std::string& definition) const {
    const Result<std::vector<fs::path>> folders = ListFolder(request_.out / "operators");
    if (!folders) return std::nullopt;
    for (const fs::path& folder : *folders) {
      if (!fs::exists(folder / "import.json")) continue;
      Result<Json> about = ReadJson(folder / "import.json");
      if (about && TextOr(*about, "definition", "") == definition) {
        return Known{.op = folder.filename().string(), .about = std::move(*about)};
      }
    }
    return std::nullopt;
  }

  Result<void> TakeSolution(const Json& item, const std::string& role = "candidate") {
    const std::string label = TextOr(item, "item", "?");
    const Json& solution = *TRY(item.ObjectAt("solution"));
    const std::string definition = TextOr(solution, "definition", "");
    const std::optional<Known> known = Find(definition);
    if (!known) {
      Tell(label, Fate::kNotCarried,
           fmt::format("its definition '{}' was not imported into {}", definition,
                       request_.out.string()));
      return {};
    }
    const worker::Answer<Json> described = TRY(describer_.Ask(
        Json::MakeObject()
            .Set("do", "describe")
            .Set("item", Json::MakeObject().Set("kind", "solution").Set("solution", solution))
            .Set("about", known->about),
        kDescribeTimeoutS));
    if (!described) {
      Tell(label, Fate::kNotCarried, Shortened(described.error().reason));
      return {};
    }
    const std::string name = TextOr(*described, "name", "");
    if (!suite::IsUsableName(name)) {
      Tell(label, Fate::kNotCarried, "its name cannot be a folder's");
      return {};
    }
    if (role == "candidate") TakeNotes(*described);
    return Write({.name = name,
                  .lane = TRY(described->String("lane")),
                  .role = role,
                  .entry = "roofmark_entry.py::run",
                  .files = *TRY(described->ArrayAt("files"))},
                 label, known->op);
  }

  const ImportRequest& request_;
  fs::path root_;
  std::string only_;
  Describer describer_;
  const std::function<void(const Item&)>& tell_;
  std::set<std::string> names_;
  ImportReport report_;
};

}  // namespace

std::string_view FateName(Fate fate) {
  return kFates[static_cast<size_t>(fate)];
}

Result<ImportReport> Import(const ImportRequest& request,
                            const std::function<void(const Item&)>& tell) {
  std::error_code error;
  const fs::path source = fs::canonical(request.source, error);
  if (error) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{}: {}", request.source.string(), error.message()));
  }
  const bool folder = fs::is_directory(source);
  const fs::path root = folder ? source : source.parent_path();
  Importer importer(request, root, folder ? "" : source.filename().string(),
                    TRY(Describer::Make(root)), tell);
  return importer.Run();
}

}  // namespace roofmark::exchange
