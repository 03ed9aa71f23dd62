// SPDX-License-Identifier: Apache-2.0
// Events are cut into texts that stay and numbers that change from copy to copy.
#include "trace/replicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "trace/byte_source.h"
#include "trace/event_splitter.h"
#include "trace/number_text.h"
#include "trace/output_file.h"

namespace roofmark::trace {
namespace {

constexpr int64_t kGapNs = 1000000;
constexpr int64_t kMaxId = int64_t{1} << 40;  // beyond it, identifiers are not ours to renumber

enum class Slot : uint8_t { kNone, kTime, kId };

// Text, and then a number that is shifted by the copy's.
struct Piece {
  size_t begin = 0;
  size_t size = 0;
  Slot slot = Slot::kNone;
  int64_t value = 0;
};

struct SlotKey {
  std::string_view key;
  Slot slot;
};
constexpr std::array<SlotKey, 6> kSlots = {{{"\"ts\":", Slot::kTime},
                                            {"\"correlation\":", Slot::kId},
                                            {"\"External id\":", Slot::kId},
                                            {"\"external id\":", Slot::kId},
                                            {"\"correlation id\":", Slot::kId},
                                            {"\"id\":", Slot::kId}}};

class Template : public EventSink {
 public:
  explicit Template(EventLayout layout) : layout_(layout) {}

  Taken TakeEvent(std::string_view original, Extent extent) override {
    if (extent == Extent::kBeginning) return Taken::kDamaged;
    const std::string event = WithLayout(original, layout_);
    const bool metadata = Member(event, "\"ph\":").starts_with("\"M\"");
    std::vector<Piece>& pieces = metadata ? once_ : each_;
    (metadata ? events_once_ : events_each_) += 1;
    pieces.push_back({.begin = text_.size()});
    const size_t base = text_.size();
    text_ += event;
    pieces.back().size = event.size();
    if (!metadata) {
      CutNumbers(event, base, pieces);
      NoteSpan(event);
    }
    pieces.push_back({});  // the separator's place
    return Taken::kKept;
  }

  void TakeMember(std::string_view key, std::string_view value) override {
    if (value.empty() || value.size() >= EventSplitter::kMaxMember || key == "traceEvents") return;
    members_ += fmt::format("  \"{}\": {},\n", key, value);
  }

  const std::string& members() const { return members_; }
  uint64_t events_once() const { return events_once_; }
  uint64_t events_each() const { return events_each_; }

  // Appends one copy's events, each with `separator` before it.
  void Append(bool metadata, int64_t copy, std::string_view separator, bool& first,
              std::string& out) const {
    const int64_t time = copy * (last_ - first_ + kGapNs) / 1000 * 1000;
    const int64_t id = copy * (max_id_ + 1);
    bool opens = true;
    for (const Piece& piece : metadata ? once_ : each_) {
      if (piece.size == 0 && piece.slot == Slot::kNone) {
        opens = true;
        continue;
      }
      if (opens) {
        if (!first) out += ',';
        out += separator;
        first = false;
        opens = false;
      }
      out.append(text_, piece.begin, piece.size);
      if (piece.slot == Slot::kTime) AppendTime(piece.value + time, out);
      if (piece.slot == Slot::kId) fmt::format_to(std::back_inserter(out), "{}", piece.value + id);
    }
  }

 private:
  static std::string_view Number(std::string_view event, size_t at) {
    while (at < event.size() && (event[at] == ' ' || event[at] == '\n')) ++at;
    const size_t end = event.find_first_of(",}] \n\r", at);
    return event.substr(at, end == std::string_view::npos ? end : end - at);
  }
  static std::string_view Member(std::string_view event, std::string_view key) {
    const size_t found = event.find(key);
    return found == std::string_view::npos ? std::string_view() : Number(event, found + key.size());
  }

  static void AppendTime(int64_t ns, std::string& out) {
    auto to = std::back_inserter(out);
    if (ns % 1000 == 0) {
      fmt::format_to(to, "{}", ns / 1000);
    } else {
      fmt::format_to(to, "{}.{:03}", ns / 1000, ns % 1000);
    }
  }

  void CutNumbers(std::string_view event, size_t base, std::vector<Piece>& pieces) {
    size_t from = 0;
    for (size_t at = event.find('"'); at != std::string_view::npos; at = event.find('"', at + 1)) {
      for (const SlotKey& slot : kSlots) {
        if (!event.substr(at).starts_with(slot.key)) continue;
        const std::string_view number = Number(event, at + slot.key.size());
        const std::optional<int64_t> value =
            slot.slot == Slot::kTime ? ParseMicroseconds(number) : ParseInteger(number);
        const bool ours = value && *value >= 0 && !number.starts_with('"') &&
                          (slot.slot == Slot::kTime || (*value > 0 && *value < kMaxId));
        if (!ours) continue;
        const auto begin = static_cast<size_t>(number.data() - event.data());
        pieces.back() = {
            .begin = base + from, .size = begin - from, .slot = slot.slot, .value = *value};
        from = begin + number.size();
        pieces.push_back({.begin = base + from, .size = event.size() - from});
        if (slot.slot == Slot::kId) max_id_ = std::max(max_id_, *value);
      }
    }
  }

  void NoteSpan(std::string_view event) {
    const std::optional<int64_t> start = ParseMicroseconds(Member(event, "\"ts\":"));
    if (!start) return;
    const int64_t dur = ParseMicroseconds(Member(event, "\"dur\":")).value_or(0);
    first_ = std::min(first_, *start);
    last_ = std::max({last_, *start, *start + std::max<int64_t>(dur, 0)});
  }

  EventLayout layout_;
  std::string text_;
  std::string members_;
  std::vector<Piece> once_;
  std::vector<Piece> each_;
  uint64_t events_once_ = 0;
  uint64_t events_each_ = 0;
  int64_t first_ = INT64_MAX;
  int64_t last_ = INT64_MIN;
  int64_t max_id_ = 0;
};

Result<void> ReadTemplate(const std::filesystem::path& from, Template& events) {
  ByteSource source = TRY(ByteSource::OpenFile(from));
  EventSplitter splitter(source, events);
  TRY_IN(splitter.Run(), from.string());
  if (splitter.loss() != SplitLoss{} || !source.damage().empty()) {
    return Fail(ErrorKind::kInput,
                from.string() + ": is damaged; only whole profiles are replicated");
  }
  if (events.events_each() == 0) {
    return Fail(ErrorKind::kInput, from.string() + ": has no event to replicate");
  }
  return {};
}

}  // namespace

Result<Replicated> ReplicateProfile(const std::filesystem::path& from,
                                    const std::filesystem::path& to,
                                    const ReplicateOptions& options,
                                    const std::function<void(uint64_t bytes)>& progress) {
  Template events(options.layout);
  TRY_IN(ReadTemplate(from, events), "replicating a profile");
  OutputFile file = TRY(OutputFile::Create(to));
  const bool one_line = options.layout == EventLayout::kOneLine;
  const std::string_view separator = one_line ? " " : "\n  ";
  std::string head = "{\n" + events.members() + "  \"traceEvents\": [";
  if (one_line) std::ranges::replace(head, '\n', ' ');
  TRY(file.Write(head));
  Replicated made;
  bool first = true;
  std::string text;
  events.Append(true, 0, separator, first, text);
  made.events = events.events_once();
  while (made.copies < std::max<uint64_t>(options.copies, 1) || file.bytes() < options.bytes) {
    events.Append(false, static_cast<int64_t>(made.copies), separator, first, text);
    TRY(file.Write(text));
    text.clear();
    ++made.copies;
    made.events += events.events_each();
    if (progress) progress(file.bytes());
  }
  TRY(file.Write(one_line ? "]}" : "\n  ]\n}\n"));
  TRY(file.Finish());
  made.bytes = file.bytes();
  return made;
}

}  // namespace roofmark::trace
