// SPDX-License-Identifier: Apache-2.0
// The fields of one kept event. Texts are views into the event as written, without their quotes and
// with their escapes; they are interned before the event goes away.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "trace/event_head.h"
#include "trace/event_splitter.h"

namespace roofmark::trace {

// Empty where the event has no such field. Numbers are their digits: number_text.h reads them.
struct EventFields {
  std::string_view name;
  std::string_view pid;
  std::string_view tid;
  std::string_view ts;
  std::string_view dur;
  // of args
  std::string_view external_id;
  std::string_view correlation;
  std::string_view device;
  std::string_view stream;
  std::string_view dims;      // "Input Dims", JSON text
  std::string_view types;     // "Input type", JSON text
  std::string_view concrete;  // "Concrete Inputs", JSON text
  uint32_t lists = 0;         // equal only where dims, types and concrete are; 0 = not known
  std::string_view record;    // "Record function id"
  std::string_view kernel;    // of a HIP launch call: the kernel's name
};

// Reads usual events by walking them (event_walk.h) and others with simdjson, whose buffers it
// keeps from one event to the next.
class EventParser {
 public:
  EventParser();
  ~EventParser();

  // False where the event is no JSON object. Control characters inside strings are accepted, and
  // bytes that are not UTF-8 (0xNN then reads as the private character U+F7NN). Of an event's
  // beginning, what is there is read. Requires: Window::kPadding readable bytes behind the event.
  // `category` is what ReadCategory says. The fields are valid until the event goes away or the
  // next one is parsed.
  bool Parse(std::string_view event, Category category, Extent extent, EventFields& fields);
  // The same by simdjson whatever the event looks like.
  bool ParseAny(std::string_view event, Extent extent, EventFields& fields);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The text that a JSON string stands for; invalid escapes stay as they are.
std::string Unescape(std::string_view text);

}  // namespace roofmark::trace
