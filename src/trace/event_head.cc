// SPDX-License-Identifier: Apache-2.0
// Kineto and every tool that rewrites its files put ph and cat first, so a comparison of 19 bytes
// usually decides; otherwise the keys are walked.
#include "trace/event_head.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace roofmark::trace {
namespace {

constexpr char kUsual[] = "\"ph\": \"X\", \"cat\": \"";
constexpr size_t kUsualSize = sizeof(kUsual) - 1;
constexpr std::string_view kPhase = "\"ph\": \"";
constexpr char kPython[] = "python_function\"";  // most events of profiles that have stacks

// A size that the compiler knows, words at a time: memcmp would be called. Requires: as many bytes
// at `text`, and a literal of eight or more.
template <size_t kSize>
bool Begins(const char* text, const char (&literal)[kSize]) {
  constexpr size_t kBytes = kSize - 1;
  static_assert(kBytes >= 8);
  uint64_t unlike = 0;
  const auto compare = [&](size_t at) {
    uint64_t a = 0;
    uint64_t b = 0;
    std::memcpy(&a, text + at, 8);
    std::memcpy(&b, literal + at, 8);
    unlike |= a ^ b;
  };
  for (size_t at = 0; at + 8 <= kBytes; at += 8) compare(at);
  compare(kBytes - 8);
  return unlike == 0;
}

bool IsSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

// Where the first key begins in the two usual layouts.
size_t HeadBegin(std::string_view event) {
  return event.size() > 6 && event[1] == '\n' ? 6 : 1;
}

Category CategoryOf(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Category>, 14> kNames = {{
      {"python_function", Category::kPython},
      {"cpu_op", Category::kCpuOp},
      {"cuda_runtime", Category::kRuntime},
      {"kernel", Category::kKernel},
      {"cuda_driver", Category::kRuntime},
      {"gpu_memcpy", Category::kMemcpy},
      {"gpu_memset", Category::kMemset},
      {"user_annotation", Category::kAnnotation},
      {"gpu_user_annotation", Category::kGpuAnnotation},
      {"Kernel", Category::kKernel},
      {"Operator", Category::kCpuOp},
      {"Runtime", Category::kRuntime},
      {"Memcpy", Category::kMemcpy},
      {"Memset", Category::kMemset},
  }};
  for (const auto& [known, category] : kNames) {
    if (name.size() == known.size() && name[0] == known[0] && name == known) return category;
  }
  return Category::kOther;
}

// Walks the members of one object, values unread. Tolerates anything and stops at nonsense.
class KeyWalker {
 public:
  explicit KeyWalker(std::string_view text) : rest_(text.substr(text.empty() ? 0 : 1)) {}

  bool Next(std::string_view& key, std::string_view& value) {
    Skip(",");
    if (!TakeString(key)) return false;
    Skip(":");
    if (rest_.empty()) return false;
    if (rest_.front() == '"') return TakeString(value);
    const size_t length =
        rest_.front() == '{' || rest_.front() == '[' ? NestedLength() : rest_.find_first_of(",}");
    value = rest_.substr(0, length);
    rest_.remove_prefix(std::min(length, rest_.size()));
    return true;
  }

 private:
  void Skip(std::string_view also) {
    while (!rest_.empty() && (IsSpace(rest_.front()) || also.find(rest_.front()) != also.npos)) {
      rest_.remove_prefix(1);
    }
  }

  // Without its quotes.
  bool TakeString(std::string_view& text) {
    if (rest_.empty() || rest_.front() != '"') return false;
    const size_t length = StringLength(rest_);
    if (length < 2) return false;
    text = rest_.substr(1, length - 2);
    rest_.remove_prefix(length);
    return true;
  }

  // With both quotes; 0 where it does not end.
  static size_t StringLength(std::string_view text) {
    for (size_t at = 1; at < text.size(); ++at) {
      if (text[at] == '"') return at + 1;
      if (text[at] == '\\') ++at;
    }
    return 0;
  }

  size_t NestedLength() const {
    size_t depth = 0;
    for (size_t at = 0; at < rest_.size(); ++at) {
      const char byte = rest_[at];
      if (byte == '"') {
        const size_t length = StringLength(rest_.substr(at));
        if (length == 0) return rest_.size();
        at += length - 1;
      } else if (byte == '{' || byte == '[') {
        ++depth;
      } else if ((byte == '}' || byte == ']') && --depth == 0) {
        return at + 1;
      }
    }
    return rest_.size();
  }

  std::string_view rest_;
};

}  // namespace

Category ReadCategory(std::string_view event) {
  const size_t skip = HeadBegin(event);
  constexpr size_t kLongest = 32;
  if (event.size() > skip + kUsualSize + kLongest && Begins(event.data() + skip, kUsual)) {
    const char* const name = event.data() + skip + kUsualSize;
    if (Begins(name, kPython)) return Category::kPython;
    size_t size = 0;
    while (size < kLongest && name[size] != '"') ++size;
    if (size < kLongest) return CategoryOf({name, size});
  } else if (event.size() > skip + kPhase.size() && event.substr(skip).starts_with(kPhase) &&
             event[skip + kPhase.size()] != 'X') {
    return Category::kOther;
  }
  KeyWalker walker(event);
  std::string_view key;
  std::string_view value;
  std::string_view category;
  bool complete = false;
  while ((!complete || category.empty()) && walker.Next(key, value)) {
    if (key == "cat") category = value;
    if (key == "ph") {
      complete = value == "X";
      if (!complete) return Category::kOther;
    }
  }
  return complete ? CategoryOf(category) : Category::kOther;
}

bool IsLaunchingCall(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return has("Launch") || has("Memcpy") || has("Memset") || has("Graph") || has("Capture");
}

namespace {

// Where the text of the name begins; npos where it does not follow the phase and the category.
size_t NameBegin(std::string_view event) {
  constexpr std::string_view kName = "\"name\": \"";
  constexpr std::string_view kNext = "\", \"name\": \"";
  const size_t skip = HeadBegin(event);
  if (event.size() > skip + kUsualSize && Begins(event.data() + skip, kUsual)) {
    constexpr size_t kLongest = 20;
    const size_t category = skip + kUsualSize;
    size_t end = category;
    while (end < event.size() && end - category < kLongest && event[end] != '"') ++end;
    if (event.substr(end).starts_with(kNext)) return end + kNext.size();
  }
  constexpr size_t kHead = 96;
  const size_t found = event.substr(0, kHead).find(kName);
  return found == std::string_view::npos ? found : found + kName.size();
}

}  // namespace

bool IdleCalls::IsIdle(std::string_view name) {
  const TextId id = names_.Intern(name);
  if (id == idle_.size()) idle_.push_back(!IsLaunchingCall(name));
  return idle_[id];
}

std::optional<uint64_t> IdleCalls::Read(std::string_view event) {
  constexpr std::string_view kCorrelation = "\"correlation\": ";
  const size_t begin = NameBegin(event);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view name = event.substr(begin);
  const size_t quote = name.find('"');
  if (quote == std::string_view::npos || !IsIdle(name.substr(0, quote))) return std::nullopt;
  // The id closes args, and args close the event.
  size_t end = event.size();
  int braces = 0;
  for (; end > 0 && (IsSpace(event[end - 1]) || event[end - 1] == '}'); --end) {
    if (event[end - 1] == '}') ++braces;
  }
  if (braces != 2) return std::nullopt;
  size_t digits = end;
  uint64_t id = 0;
  uint64_t place = 1;
  for (; digits > 0 && end - digits < 18 && event[digits - 1] >= '0' && event[digits - 1] <= '9';
       --digits) {
    id += place * static_cast<uint64_t>(event[digits - 1] - '0');
    place *= 10;
  }
  if (digits == end || !event.substr(0, digits).ends_with(kCorrelation)) return std::nullopt;
  return id;
}

}  // namespace roofmark::trace
