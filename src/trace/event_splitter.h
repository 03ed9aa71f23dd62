// SPDX-License-Identifier: Apache-2.0
// Cuts a Kineto profile into its events without building a tree, in memory that does not depend on
// the profile's size. Two ways lead through the event array: Kineto's own layout is cut at the
// lines that close an event; anything else (re-indented, one line, rewritten by a tool) by a
// scanner that knows strings and escapes. Where an event is damaged, splitting goes on at the next
// event, and the loss is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/char_scan.h"
#include "trace/window.h"

namespace roofmark::trace {

// What became of an event.
enum class Taken { kKept, kSkipped, kDamaged };

// An event over EventSplitter::kMaxEvent bytes comes as its beginning only.
enum class Extent { kWhole, kBeginning };

class EventSink {
 public:
  virtual ~EventSink() = default;
  // One element of the event array, from its '{' to its '}', with Window::kPadding readable bytes
  // behind it. kDamaged must leave no trace, since the event may be offered again.
  virtual Taken TakeEvent(std::string_view event, Extent extent) = 0;
  // A member of the top-level object beside the events; long values come as their beginning.
  virtual void TakeMember(std::string_view key, std::string_view value) = 0;
};

// What a profile lost on the way; all zero for a sound one.
struct SplitLoss {
  uint64_t damaged_events = 0;  // events, or runs of bytes between events, that made no sense
  uint64_t damaged_bytes = 0;
  uint64_t cut_events = 0;  // longer than kMaxEvent: read from their beginning
  bool truncated = false;   // the profile ends inside the event array or the top-level object
  bool operator==(const SplitLoss&) const = default;
};

class EventSplitter {
 public:
  static constexpr size_t kMaxEvent = 16 << 20;
  static constexpr size_t kMaxMember = 64 << 10;

  EventSplitter(ByteSource& source, EventSink& sink) : window_(source), sink_(sink) {}

  // Errors: kIo, and kInput where this is no JSON object or array with events.
  Result<void> Run();

  uint64_t events() const { return events_; }    // kept or skipped
  uint64_t skipped() const { return skipped_; }  // of them, by the sink
  // Whether the document is an array of events without an object around it.
  bool bare() const { return bare_; }
  const SplitLoss& loss() const { return loss_; }

 private:
  struct General;
  enum class Next { kEvent, kArrayEnd, kEnd };

  Result<void> TopLevel();
  Result<bool> Member();
  Result<bool> SkipSpace();
  Result<std::string> ReadKey();
  Result<bool> SkipValue(std::string& head);
  Result<void> Events();
  Result<Next> FindNext();
  Result<Next> Resume();
  bool AtNativeStart() const;
  // Why the events of a window come to an end.
  enum class Native {
    kLeft,     // what follows is in another layout, or no event
    kDamaged,  // the event here is
    kCut,      // the event here goes on behind the window
    kBetween,  // what follows the last event does
  };
  Result<void> SplitNative();
  Native SplitWindow();
  Result<void> SplitGeneral();
  Result<bool> Refill(General& scan);
  bool WalkBlock(General& scan, BraceMasks masks, size_t base);
  bool CloseEvent(General& scan, size_t end);
  void Count(Taken taken);
  bool CheckLongEvent(General& scan);
  void CountLoss(size_t bytes);

  Window window_;
  EventSink& sink_;
  size_t at_ = 0;  // position in window_
  uint64_t events_ = 0;
  uint64_t skipped_ = 0;
  bool found_events_ = false;
  bool bare_ = false;
  bool native_allowed_ = true;
  SplitLoss loss_;
};

}  // namespace roofmark::trace
