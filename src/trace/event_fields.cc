// SPDX-License-Identifier: Apache-2.0
// The only place that sees simdjson. Its on-demand interface reads one event at a time; what it
// refuses although profiles contain it (raw control characters, broken UTF-8) is rewritten first.
#include "trace/event_fields.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <cstring>

#include "trace/event_walk.h"
#include "trace/window.h"

namespace roofmark::trace {
namespace {

namespace ondemand = simdjson::ondemand;

// The bytes of one UTF-8 character at the start of the text, or 0 where there is none.
// Source: Unicode Standard 15, table 3-7.
size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto tail = [&](size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if (lead == 0xE0 && at(1) < 0xA0) return 0;
    return lead == 0xED && at(1) > 0x9F ? 0 : 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (lead == 0xF0 && at(1) < 0x90) return 0;
    return lead == 0xF4 && at(1) > 0x8F ? 0 : 4;
  }
  return 0;
}

// U+F7NN in UTF-8.
void AppendForeignByte(std::string& out, unsigned char byte) {
  out += '\xEF';
  out += static_cast<char>(0x9C | byte >> 6);
  out += static_cast<char>(0x80 | (byte & 0x3F));
}

// The event with control characters in strings escaped and foreign bytes replaced; of a beginning,
// the open string and the object are closed.
std::string Repaired(std::string_view event, Extent extent) {
  std::string out;
  out.reserve(event.size() + 256);
  bool in_string = false;
  bool escaped = false;
  for (size_t at = 0; at < event.size();) {
    const auto byte = static_cast<unsigned char>(event[at]);
    const size_t length = Utf8Length(event.substr(at, 4));
    if (length == 0) {
      AppendForeignByte(out, byte);
    } else if (in_string && byte < 0x20) {
      out += fmt::format("{}u{:04x}", escaped ? "" : "\\", byte);
    } else {
      out += event.substr(at, length);
    }
    if (byte == '"' && !escaped) in_string = !in_string;
    escaped = in_string && byte == '\\' && !escaped;
    at += length == 0 ? 1 : length;
  }
  if (extent == Extent::kBeginning) {
    if (escaped) out += '\\';
    if (in_string) out += '"';
    out += '}';
  }
  return out;
}

std::string_view Trimmed(std::string_view token) {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

// A scalar as written; a string without its quotes.
std::string_view Scalar(ondemand::value value) {
  std::string_view token = Trimmed(value.raw_json_token());
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return token;
  return token.substr(1, token.size() - 2);
}

// A member's key as it stands in the event. Compares without looking for its end, which is most of
// the work with some ten keys an event.
class Key {
 public:
  explicit Key(const char* raw) : raw_(raw) {}
  char first() const { return raw_[0]; }
  // Reads no further than the padding behind the event.
  template <size_t kSize>
  bool operator==(const char (&literal)[kSize]) const {
    static_assert(kSize <= 32);
    return std::memcmp(raw_, literal, kSize - 1) == 0 && raw_[kSize - 1] == '"';
  }

 private:
  const char* raw_;
};

bool ReadArray(ondemand::value value, std::string_view& text) {
  ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return true;  // other types say nothing
  return array.raw_json().get(text) == simdjson::SUCCESS;
}

bool ReadArgument(Key key, ondemand::value value, EventFields& fields) {
  switch (key.first()) {
    case 'E':
    case 'e':
      if (key == "External id" || key == "external id") fields.external_id = Scalar(value);
      return true;
    case 'c':
      if (key == "correlation") fields.correlation = Scalar(value);
      return true;
    case 'd':
      if (key == "device") fields.device = Scalar(value);
      return true;
    case 's':
      if (key == "stream") fields.stream = Scalar(value);
      return true;
    case 'k':
      if (key == "kernel") fields.kernel = Scalar(value);
      return true;
    case 'I':
      if (key == "Input Dims" || key == "Input dims") return ReadArray(value, fields.dims);
      if (key == "Input type") return ReadArray(value, fields.types);
      return true;
    case 'R':
      if (key == "Record function id") fields.record = Scalar(value);
      return true;
    case 'C':
      return !(key == "Concrete Inputs") || ReadArray(value, fields.concrete);
    default:
      return true;
  }
}

// Calls visit(key, value) for each member; false on damage.
template <typename Visit>
bool ForEachMember(ondemand::object object, Visit visit) {
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return false;
    if (!visit(Key(field.key().raw()), field.value())) return false;
  }
  return true;
}

bool ReadField(Key key, ondemand::value value, EventFields& fields) {
  switch (key.first()) {
    case 'n':
      if (key == "name") fields.name = Scalar(value);
      return true;
    case 'p':
      if (key == "pid") fields.pid = Scalar(value);
      return true;
    case 't':
      if (key == "tid") fields.tid = Scalar(value);
      if (key == "ts") fields.ts = Scalar(value);
      return true;
    case 'd':
      if (key == "dur") fields.dur = Scalar(value);
      return true;
    case 'a': {
      if (!(key == "args")) return true;
      ondemand::object args;
      if (value.get_object().get(args) != simdjson::SUCCESS) return true;
      return ForEachMember(args, [&](Key argument, ondemand::value inner) {
        return ReadArgument(argument, inner, fields);
      });
    }
    default:
      return true;
  }
}

}  // namespace

struct EventParser::State {
  ondemand::parser parser;
  ondemand::document document;
  std::string repaired;
  UsualEvents usual;
};

EventParser::EventParser() : state_(std::make_unique<State>()) {}
EventParser::~EventParser() = default;

bool EventParser::Parse(std::string_view event, Category category, Extent extent,
                        EventFields& fields) {
  if (extent == Extent::kWhole && state_->usual.Read(event, category, fields)) return true;
  fields = {};
  return ParseAny(event, extent, fields);
}

bool EventParser::ParseAny(std::string_view event, Extent extent, EventFields& fields) {
  simdjson::error_code error = simdjson::UTF8_ERROR;
  if (extent == Extent::kWhole) {
    error = state_->parser.iterate(event.data(), event.size(), event.size() + Window::kPadding)
                .get(state_->document);
  }
  if (error == simdjson::UTF8_ERROR || error == simdjson::UNESCAPED_CHARS) {
    std::string& repaired = state_->repaired;
    repaired = Repaired(event, extent);
    const size_t size = repaired.size();
    repaired.append(Window::kPadding, ' ');
    error = state_->parser.iterate(repaired.data(), size, repaired.size()).get(state_->document);
  }
  ondemand::object object;
  if (error != simdjson::SUCCESS) return false;
  if (state_->document.get_object().get(object) != simdjson::SUCCESS) return false;
  const bool whole = ForEachMember(
      object, [&](Key key, ondemand::value value) { return ReadField(key, value, fields); });
  return whole || (extent == Extent::kBeginning && !fields.ts.empty());
}

namespace {

void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// Four hexadecimal digits behind "\u", or nothing.
bool ReadHex4(std::string_view text, size_t at, uint32_t& code) {
  if (at + 4 > text.size()) return false;
  const char* end = text.data() + at + 4;
  const auto [stop, error] = std::from_chars(text.data() + at, end, code, 16);
  return error == std::errc() && stop == end;
}

char PlainEscape(char letter) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
  const size_t at = kLetters.find(letter);
  return at == std::string_view::npos ? '\0' : kMeaning[at];
}

}  // namespace

std::string Unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    uint32_t code = 0;
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
    } else if (const char plain = PlainEscape(text[at + 1]); plain != '\0') {
      out += plain;
      ++at;
    } else if (text[at + 1] == 'u' && ReadHex4(text, at + 2, code)) {
      at += 5;
      uint32_t low = 0;
      if ((code & 0xFC00) == 0xD800 && text.substr(at + 1).starts_with("\\u") &&
          ReadHex4(text, at + 3, low) && (low & 0xFC00) == 0xDC00) {
        code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
        at += 6;
      }
      AppendUtf8(out, code);
    } else {
      out += text[at];
    }
  }
  return out;
}

}  // namespace roofmark::trace
