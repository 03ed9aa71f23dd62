// SPDX-License-Identifier: Apache-2.0
// The flow: the top-level object, in it the event array, in that one of the two ways of cutting.
// Both ways return to Events() whenever they meet what they do not expect.
#include "trace/event_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "trace/event_repair.h"

namespace roofmark::trace {
namespace {

constexpr size_t kNone = SIZE_MAX;
// How an event begins after another one in the layout that Kineto itself writes.
constexpr std::string_view kNativeNext = ",\n  {\n    \"";
constexpr std::string_view kNativeStart = "{\n    \"";
// A skipped event longer than this is looked through for events that it swallowed: stack frames and
// flows are shorter.
constexpr size_t kSuspicious = 512;
constexpr size_t kFirstLongCheck = 8 << 10;
constexpr std::string_view kEventsKey = "\"traceEvents\"";

bool IsSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

bool IsSeparator(std::string_view gap) {
  if (gap == ", ") return true;
  return std::ranges::all_of(gap, [](char byte) { return byte == ',' || IsSpace(byte); });
}

// Members that end a damaged stretch of the event array, since they only occur at the top level.
bool IsTopLevelMember(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kKeys = {
      "\"displayTimeUnit\"", "\"baseTimeNanoseconds\"", "\"traceName\""};
  return std::ranges::any_of(kKeys, [&](auto key) { return text.starts_with(key); });
}

}  // namespace

// The general scanner's position: masks are made for whole blocks from `scanned` on.
struct EventSplitter::General {
  ScanState state;
  size_t scanned = 0;    // end of what has been scanned
  size_t gap = 0;        // end of the last event
  size_t start = kNone;  // of the open event
  size_t depth = 0;
  size_t check_at = kFirstLongCheck;  // length at which an open event is looked through
  bool cut = false;                   // the open event was delivered as its beginning
};

Result<void> EventSplitter::Run() {
  TRY(window_.Grow());
  if (window_.text().starts_with("\xef\xbb\xbf")) at_ = 3;
  if (!TRY(SkipSpace())) return Fail(ErrorKind::kInput, "the file is empty");
  const char first = window_.data()[at_];
  if (first == '[') {
    ++at_;
    found_events_ = bare_ = true;
    TRY(Events());
  } else if (first == '{') {
    ++at_;
    TRY(TopLevel());
  } else {
    return Fail(
        ErrorKind::kInput,
        fmt::format("byte {} is neither '{{' nor '[': not a JSON profile", window_.offset() + at_));
  }
  if (!found_events_) {
    return Fail(ErrorKind::kInput,
                "no traceEvents in it: not a Kineto profile (PyTorch's profiler writes them with "
                "export_chrome_trace)");
  }
  return {};
}

// False at the end of the profile.
Result<bool> EventSplitter::SkipSpace() {
  while (true) {
    while (at_ < window_.size() && IsSpace(window_.data()[at_])) ++at_;
    if (at_ < window_.size()) return true;
    window_.Drop(at_);
    at_ = 0;
    if (!TRY(window_.Grow())) return false;
  }
}

Result<void> EventSplitter::TopLevel() {
  while (TRY(SkipSpace())) {
    const char byte = window_.data()[at_];
    if (byte == '}') return {};
    if (byte == '"') {
      if (!TRY(Member())) break;
      continue;
    }
    if (byte != ',') ++loss_.damaged_bytes;
    ++at_;
  }
  loss_.truncated = true;
  return {};
}

// One member of the top-level object; false where the profile ends inside it.
Result<bool> EventSplitter::Member() {
  const std::string key = TRY(ReadKey());
  if (!TRY(SkipSpace())) return false;
  if (window_.data()[at_] != ':') {
    CountLoss(key.size() + 2);
    return true;
  }
  ++at_;
  if (!TRY(SkipSpace())) return false;
  if (key == "traceEvents" && window_.data()[at_] == '[') {
    ++at_;
    found_events_ = true;
    TRY(Events());
    return !loss_.truncated;
  }
  std::string value;
  if (!TRY(SkipValue(value))) return false;
  sink_.TakeMember(key, value);
  return true;
}

// Requires: at a '"'. Leaves the position behind the closing one.
Result<std::string> EventSplitter::ReadKey() {
  std::string key;
  ++at_;
  while (true) {
    if (at_ == window_.size()) {
      window_.Drop(at_);
      at_ = 0;
      if (!TRY(window_.Grow())) return key;
    }
    const char byte = window_.data()[at_++];
    if (byte == '"') return key;
    if (key.size() < kMaxMember) key += byte;
  }
}

// Skips a value of the top-level object and keeps its beginning. The events' key inside the value
// means that a quote went missing: the value ends there. False where the profile ends in it.
Result<bool> EventSplitter::SkipValue(std::string& head) {
  size_t depth = 0;
  bool in_string = false;
  bool escaped = false;
  while (true) {
    if (window_.size() - at_ < kEventsKey.size()) {
      window_.Drop(at_);
      at_ = 0;
      if (!TRY(window_.Grow()) && window_.size() == 0) return false;
    }
    const char byte = window_.data()[at_];
    const bool outside = !in_string && depth == 0;
    if (outside && (byte == ',' || byte == '}')) return true;
    if (byte == '"' && !escaped && window_.text().substr(at_).starts_with(kEventsKey)) {
      if (!outside) CountLoss(head.size());
      return true;
    }
    if (escaped) {
      escaped = false;
    } else if (in_string) {
      escaped = byte == '\\';
      in_string = byte != '"';
    } else if (byte == '"') {
      in_string = true;
    } else if (byte == '{' || byte == '[') {
      ++depth;
    } else if (byte == '}' || byte == ']') {
      --depth;
    }
    if (head.size() < kMaxMember) head += byte;
    ++at_;
  }
}

Result<void> EventSplitter::Events() {
  while (true) {
    switch (TRY(FindNext())) {
      case Next::kArrayEnd:
        return {};
      case Next::kEnd:
        loss_.truncated = true;
        return {};
      case Next::kEvent:
        break;
    }
    if (native_allowed_ && AtNativeStart()) {
      TRY(SplitNative());
    } else {
      TRY(SplitGeneral());
    }
  }
}

// Moves to the '{' of the next event, or behind the ']' that ends the array.
Result<EventSplitter::Next> EventSplitter::FindNext() {
  while (TRY(SkipSpace())) {
    const char byte = window_.data()[at_];
    if (byte == '{') {
      // Enough to tell the layout.
      while (window_.size() - at_ < kNativeStart.size()) {
        window_.Drop(at_);
        at_ = 0;
        if (!TRY(window_.Grow())) break;
      }
      return Next::kEvent;
    }
    if (byte == ']') {
      ++at_;
      return Next::kArrayEnd;
    }
    if (byte != ',') return Resume();
    ++at_;
  }
  return Next::kEnd;
}

// After damage: the next thing that can only be an event, or a member after the array.
Result<EventSplitter::Next> EventSplitter::Resume() {
  ++loss_.damaged_events;
  // What a key needs to be recognised, so that none is missed at the edge of the window.
  constexpr size_t kEdge = 64;
  while (true) {
    const std::string_view text = window_.text();
    const size_t event = FindEventStart(text, at_);
    size_t member = text.find('"', at_);
    while (member < event && !IsTopLevelMember(text.substr(member))) {
      member = text.find('"', member + 1);
    }
    const size_t found = std::min(event, member);
    const size_t stop = found != kNone ? found : text.size();
    const size_t keep = found != kNone || stop - at_ < kEdge ? stop : stop - kEdge;
    if (found != kNone) {
      loss_.damaged_bytes += found - at_;
      at_ = found;
      return event == found ? Next::kEvent : Next::kArrayEnd;
    }
    const size_t lost = stop - at_ < kEdge ? 0 : keep - at_;
    loss_.damaged_bytes += lost;
    window_.Drop(at_ + lost);
    at_ = 0;
    if (!TRY(window_.Grow())) {
      loss_.damaged_bytes += window_.size();
      window_.Drop(window_.size());
      return Next::kEnd;
    }
  }
}

void EventSplitter::CountLoss(size_t bytes) {
  ++loss_.damaged_events;
  loss_.damaged_bytes += bytes;
}

bool EventSplitter::AtNativeStart() const {
  return window_.text().substr(at_).starts_with(kNativeStart);
}

// Requires: AtNativeStart(). Goes on as long as events follow each other in the native layout.
Result<void> EventSplitter::SplitNative() {
  while (true) {
    switch (SplitWindow()) {
      case Native::kLeft:
        return {};
      case Native::kDamaged:
        return SplitGeneral();
      case Native::kBetween:
        window_.Drop(at_);
        at_ = 0;
        TRY(window_.Grow());
        if (!window_.text().starts_with(kNativeNext)) return {};
        at_ = kNativeNext.find('{');
        continue;
      case Native::kCut:
        break;
    }
    const size_t searched = std::max<size_t>(1, window_.size() - at_ - 3);
    window_.Drop(at_);
    at_ = 0;
    if (searched < kMaxMember && TRY(window_.Grow())) continue;
    native_allowed_ = searched < kMaxMember;
    return SplitGeneral();
  }
}

// Takes the events that are whole in the window. Nearly all of a profile goes through here. Ends
// are found for many events at once, so that no event waits for the one before it.
EventSplitter::Native EventSplitter::SplitWindow() {
  constexpr size_t kAtOnce = 32;
  std::array<uint32_t, kAtOnce> ends;  // NOLINT: written before it is read
  const char* const text = window_.data();
  const size_t size = window_.size();
  for (size_t from = at_ + 1; from < size;) {
    const NativeEnds found = FindNativeEnds(text + from, size - from, ends);
    for (size_t i = 0; i < found.count; ++i) {
      const size_t end = from + ends[i];
      const Taken taken = sink_.TakeEvent({text + at_, end - at_}, Extent::kWhole);
      if (taken == Taken::kDamaged) return Native::kDamaged;
      Count(taken);
      at_ = end;
      if (size - end < kNativeNext.size()) return Native::kBetween;
      if (std::memcmp(text + end, kNativeNext.data(), kNativeNext.size()) != 0) {
        return Native::kLeft;
      }
      at_ += kNativeNext.find('{');
    }
    from += found.next;
  }
  return Native::kCut;
}

// Requires: at a '{'. Returns where the array seems to end, after damage, and where the native
// layout begins.
Result<void> EventSplitter::SplitGeneral() {
  constexpr size_t kBatch = 32;
  std::array<BraceMasks, kBatch> masks;
  General scan{.scanned = at_, .gap = at_};
  while (TRY(Refill(scan))) {
    const size_t whole = (window_.size() - scan.scanned) / kScanBlock;
    const size_t blocks = std::clamp<size_t>(whole, 1, kBatch);
    ScanBraces(window_.data() + scan.scanned, blocks, scan.state, masks.data());
    for (size_t block = 0; block < blocks; ++block) {
      if ((masks[block].open | masks[block].close) == 0) continue;
      if (!WalkBlock(scan, masks[block], scan.scanned + block * kScanBlock)) return {};
    }
    scan.scanned = std::min(scan.scanned + blocks * kScanBlock, window_.size());
    if (!CheckLongEvent(scan)) return {};
    const bool between = scan.start == kNone;
    if (between && !IsSeparator(window_.text().substr(scan.gap, scan.scanned - scan.gap))) break;
  }
  if (scan.start == kNone) {
    at_ = scan.gap;
    return {};
  }
  // The profile ends inside an event.
  loss_.truncated = true;
  loss_.damaged_bytes += window_.size() - scan.start;
  if (!scan.cut) {
    const size_t swallowed = FindSwallowedEvent(window_.text().substr(scan.start));
    if (swallowed != kNone) {
      loss_.damaged_bytes -= window_.size() - scan.start - swallowed;
      ++loss_.damaged_events;
      loss_.truncated = false;
      at_ = scan.start + swallowed;
      return {};
    }
  }
  at_ = window_.size();
  return {};
}

// Makes at least one whole block available, or the padded rest at the end of the profile; false
// when everything has been scanned.
Result<bool> EventSplitter::Refill(General& scan) {
  while (window_.size() - scan.scanned < kScanBlock) {
    const size_t keep = scan.start != kNone ? scan.start : scan.gap;
    window_.Drop(keep);
    scan.scanned -= keep;
    scan.gap -= std::min(scan.gap, keep);
    if (scan.start != kNone) scan.start = 0;
    if (!TRY(window_.Grow())) return scan.scanned < window_.size();
  }
  return true;
}

// Follows the braces of one block; false where splitting must go back to Events().
bool EventSplitter::WalkBlock(General& scan, BraceMasks masks, size_t base) {
  for (uint64_t bits = masks.open | masks.close; bits != 0; bits &= bits - 1) {
    const auto bit = static_cast<size_t>(std::countr_zero(bits));
    const size_t at = base + bit;
    if ((masks.open >> bit & 1) != 0) {
      if (scan.depth++ > 0) continue;
      if (!IsSeparator(window_.text().substr(scan.gap, at - scan.gap))) {
        at_ = scan.gap;
        return false;
      }
      scan.start = at;
    } else {
      if (scan.depth == 0) {
        at_ = scan.gap;
        return false;
      }
      if (--scan.depth == 0 && !CloseEvent(scan, at + 1)) return false;
    }
  }
  return true;
}

void EventSplitter::Count(Taken taken) {
  ++events_;
  if (taken == Taken::kSkipped) ++skipped_;
}

bool EventSplitter::CloseEvent(General& scan, size_t end) {
  const std::string_view event = window_.text().substr(scan.start, end - scan.start);
  Taken taken = scan.cut ? Taken::kKept : sink_.TakeEvent(event, Extent::kWhole);
  size_t next = kNone;
  if (taken == Taken::kDamaged || (taken == Taken::kSkipped && event.size() > kSuspicious)) {
    next = FindSwallowedEvent(event);
    if (next != kNone) taken = Taken::kDamaged;
  }
  if (taken == Taken::kDamaged) {
    if (next == kNone) next = FindEventStart(event, 1);
    if (next == kNone) next = event.size();
    CountLoss(next);
    at_ = scan.start + next;
    return false;
  }
  if (!scan.cut) Count(taken);  // else it was when its beginning was read
  scan.gap = end;
  scan.start = kNone;
  scan.check_at = kFirstLongCheck;
  scan.cut = false;
  at_ = end;
  return !native_allowed_ || !window_.text().substr(end).starts_with(kNativeNext);
}

// An event that does not end may have lost a quote or a brace; false after having found that.
bool EventSplitter::CheckLongEvent(General& scan) {
  if (scan.start == kNone || scan.scanned - scan.start < scan.check_at) return true;
  const std::string_view event = window_.text().substr(scan.start, scan.scanned - scan.start);
  if (!scan.cut) {
    const size_t swallowed = FindSwallowedEvent(event);
    if (swallowed != kNone) {
      CountLoss(swallowed);
      at_ = scan.start + swallowed;
      return false;
    }
  }
  scan.check_at = 2 * event.size();
  if (event.size() < kMaxEvent) return true;
  if (!scan.cut) {
    ++loss_.cut_events;
    const Taken taken = sink_.TakeEvent(event.substr(0, kMaxMember), Extent::kBeginning);
    if (taken == Taken::kDamaged) {
      CountLoss(event.size());
    } else {
      Count(taken);
    }
  }
  scan.cut = true;
  scan.start = scan.scanned;  // forget what has been read
  scan.check_at = kMaxEvent;
  return true;
}

}  // namespace roofmark::trace
