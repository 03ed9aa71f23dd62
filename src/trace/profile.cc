// SPDX-License-Identifier: Apache-2.0
// Turns events into rows. Nothing is linked here, since kernels may precede or follow the calls
// that launched them.
#include "trace/profile.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/hash_stream.h"
#include "trace/event_fields.h"
#include "trace/event_head.h"
#include "trace/id_index.h"
#include "trace/number_text.h"

namespace roofmark::trace {
namespace {

// Calls that launch nothing are most of a profile's calls and of no use, but for a launch whose
// correlation id is that of none other. Those are so rare that the profile is then read again.
enum class Calls { kLaunching, kAll };

// Identifiers in a byte or two each: what is left out must not cost the memory of what is kept.
class IdList {
 public:
  void Add(uint64_t id) {
    // The distance to the last one, its sign in the lowest bit, seven bits a byte.
    const auto distance = static_cast<int64_t>(id - last_);
    uint64_t left = static_cast<uint64_t>(distance) << 1 ^ static_cast<uint64_t>(distance >> 63);
    for (; left >= 0x80; left >>= 7) bytes_.push_back(static_cast<uint8_t>(left | 0x80));
    bytes_.push_back(static_cast<uint8_t>(left));
    last_ = id;
  }
  bool empty() const { return bytes_.empty(); }
  template <typename Predicate>
  bool AnyOf(Predicate predicate) const {
    uint64_t id = 0;
    uint64_t value = 0;
    int shift = 0;
    for (const uint8_t byte : bytes_) {
      value |= uint64_t{byte & 0x7FU} << shift;
      shift += 7;
      if (byte >= 0x80) continue;
      id += value >> 1 ^ (~(value & 1) + 1);
      if (predicate(id)) return true;
      value = 0;
      shift = 0;
    }
    return false;
  }

 private:
  Rows<uint8_t> bytes_;
  uint64_t last_ = 0;
};

class ProfileBuilder : public EventSink {
 public:
  ProfileBuilder(Profile& profile, Calls calls, const ReadOptions& options)
      : profile_(profile), calls_(calls), options_(options) {}

  Taken TakeEvent(std::string_view event, Extent extent) override;
  void TakeMember(std::string_view key, std::string_view value) override;
  // Whether any element had an event's phase; other JSON arrays have none.
  bool saw_event() const { return saw_event_; }
  // Whether some launch has the correlation id of a call that was left out, and of no other.
  bool NeedsIdleCalls() const;

 private:
  void TakeLaunch(const EventFields& fields, int64_t start, int64_t dur, Category category);
  void TakeCall(const EventFields& fields, int64_t start, int64_t dur);
  void TakeOp(const EventFields& fields, int64_t start, int64_t dur, Category category);
  void TakeGpuRange(const EventFields& fields, int64_t start, int64_t dur);
  TextId Name(std::string_view raw);
  uint32_t Thread(const EventFields& fields);

  TextId Arguments(TextId name, const EventFields& fields);

  Profile& profile_;
  Calls calls_;
  const ReadOptions& options_;
  std::vector<uint8_t> wanted_;  // by name: its arguments
  IdleCalls idle_calls_;
  IdList idle_;  // correlation ids of calls that were left out
  std::string scratch_;
  TextId unasked_ = kNoText;
  struct KnownArguments {
    uint32_t lists = 0;
    TextId arguments = kNoText;
  };
  std::array<KnownArguments, 1024> known_;  // of lists that came before
  EventParser parser_;
  StringTable threads_;
  StringTable streams_;
  std::string pid_;  // of the last thread
  std::string tid_;
  uint32_t thread_ = kNone32;
  bool saw_event_ = false;
};

uint64_t IdOrNone(std::string_view text) {
  return text.empty() ? kNoId : ParseIdentifier(text);
}

int32_t Device(const EventFields& fields) {
  const std::string_view text = fields.device.empty() ? fields.pid : fields.device;
  const std::optional<int64_t> device = ParseInteger(text);
  return device && *device >= 0 && *device <= INT32_MAX ? static_cast<int32_t>(*device) : -1;
}

Taken ProfileBuilder::TakeEvent(std::string_view event, Extent extent) {
  const Category category = ReadCategory(event);
  if (!saw_event_) saw_event_ = event.find("\"ph\"") != std::string_view::npos;
  if (category == Category::kPython) ++profile_.python_events;
  if (category == Category::kPython || category == Category::kOther) return Taken::kSkipped;
  if (category == Category::kRuntime && calls_ == Calls::kLaunching) {
    if (const std::optional<uint64_t> id = idle_calls_.Read(event)) {
      idle_.Add(*id);
      return Taken::kSkipped;
    }
  }
  EventFields fields;
  if (!parser_.Parse(event, category, extent, fields)) return Taken::kDamaged;
  // Fields stand behind their keys, and before the event's end and padding.
  const std::optional<int64_t> start = ParseEventMicroseconds(fields.ts);
  std::optional<int64_t> dur = ParseEventMicroseconds(fields.dur);
  if (fields.dur.empty()) dur = 0;
  int64_t end = 0;
  if (!start || !dur || __builtin_add_overflow(*start, *dur, &end)) return Taken::kDamaged;
  if (*dur < 0) ++profile_.loss.negative_dur;
  dur = std::max<int64_t>(*dur, 0);
  switch (category) {
    case Category::kKernel:
    case Category::kMemcpy:
    case Category::kMemset:
      TakeLaunch(fields, *start, *dur, category);
      break;
    case Category::kRuntime:
      TakeCall(fields, *start, *dur);
      break;
    case Category::kCpuOp:
    case Category::kAnnotation:
      TakeOp(fields, *start, *dur, category);
      break;
    case Category::kGpuAnnotation:
      TakeGpuRange(fields, *start, *dur);
      break;
    case Category::kPython:
    case Category::kOther:
      break;
  }
  return Taken::kKept;
}

bool ProfileBuilder::NeedsIdleCalls() const {
  if (idle_.empty()) return false;
  const IdIndex launching(profile_.calls.size(),
                          [&](uint32_t row) { return profile_.calls[row].correlation; });
  std::vector<uint64_t> missing;
  for (const Launch kernel : profile_.kernels) {
    if (launching.First(kernel.correlation) == kNone32) missing.push_back(kernel.correlation);
  }
  if (missing.empty()) return false;
  std::ranges::sort(missing);
  return idle_.AnyOf([&](uint64_t id) { return std::ranges::binary_search(missing, id); });
}

void ProfileBuilder::TakeLaunch(const EventFields& fields, int64_t start, int64_t dur,
                                Category category) {
  if (dur == 0) ++profile_.loss.zero_dur;
  const std::string_view stream = fields.stream.empty() ? fields.tid : fields.stream;
  const Launch launch{.start_ns = start,
                      .dur_ns = dur,
                      .correlation = IdOrNone(fields.correlation),
                      .external_id = IdOrNone(fields.external_id),
                      .name = Name(fields.name),
                      .device = Device(fields),
                      .stream = streams_.Intern(stream),
                      .kind = category == Category::kKernel   ? LaunchKind::kKernel
                              : category == Category::kMemcpy ? LaunchKind::kCopy
                                                              : LaunchKind::kFill};
  (category == Category::kKernel ? profile_.kernels : profile_.copies).push_back(launch);
}

void ProfileBuilder::TakeCall(const EventFields& fields, int64_t start, int64_t dur) {
  profile_.calls.push_back({.start_ns = start,
                            .end_ns = start + dur,
                            .correlation = IdOrNone(fields.correlation),
                            .name = Name(fields.name),
                            .kernel = fields.kernel.empty() ? kNoText : Name(fields.kernel),
                            .thread = Thread(fields)});
}

void ProfileBuilder::TakeOp(const EventFields& fields, int64_t start, int64_t dur,
                            Category category) {
  const bool annotation = category == Category::kAnnotation;
  if (annotation) ++profile_.user_annotations;
  const TextId name = Name(fields.name);
  profile_.ops.push_back({.start_ns = start,
                          .end_ns = start + dur,
                          .external_id = IdOrNone(fields.external_id),
                          .name = name,
                          .arguments = Arguments(name, fields),
                          .thread = Thread(fields),
                          .annotation = annotation});
  if (!fields.record.empty()) {
    const uint64_t id = IdOrNone(fields.record);
    profile_.record_ids.resize(profile_.ops.size() - 1, kNone32);
    profile_.record_ids.push_back(id < kNone32 ? static_cast<uint32_t>(id) : kNone32);
  }
}

// Most operators are of no kind that anybody asks for, and texts are most of their work.
TextId ProfileBuilder::Arguments(TextId name, const EventFields& fields) {
  constexpr uint8_t kWanted = 1;
  constexpr uint8_t kUnwanted = 2;
  OpTexts texts = {fields.dims, fields.types, fields.concrete};
  if (options_.wants_arguments && !texts.dims.empty()) {
    if (name >= wanted_.size()) wanted_.resize(name + 1 + name / 2);
    uint8_t& wanted = wanted_[name];
    if (wanted == 0) {
      wanted = options_.wants_arguments(profile_.text.Text(name)) ? kWanted : kUnwanted;
    }
    if (wanted == kUnwanted) {
      if (unasked_ == kNoText)
        unasked_ = InternOpTexts({kUnasked, {}, {}}, profile_.text, scratch_);
      return unasked_;
    }
  }
  if (fields.lists == 0) return InternOpTexts(texts, profile_.text, scratch_);
  KnownArguments& known = known_[fields.lists % known_.size()];
  if (known.lists != fields.lists) {
    known = {fields.lists, InternOpTexts(texts, profile_.text, scratch_)};
  }
  return known.arguments;
}

void ProfileBuilder::TakeGpuRange(const EventFields& fields, int64_t start, int64_t dur) {
  const std::string_view stream = fields.stream.empty() ? fields.tid : fields.stream;
  profile_.gpu_ranges.push_back({.start_ns = start,
                                 .end_ns = start + dur,
                                 .name = Name(fields.name),
                                 .device = Device(fields),
                                 .stream = streams_.Intern(stream)});
}

TextId ProfileBuilder::Name(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return profile_.text.Intern(raw);
  return profile_.text.Intern(Unescape(raw));
}

uint32_t ProfileBuilder::Thread(const EventFields& fields) {
  // Events of one thread follow each other.
  if (thread_ != kNone32 && fields.pid == pid_ && fields.tid == tid_) return thread_;
  pid_ = fields.pid;
  tid_ = fields.tid;
  thread_ = threads_.Intern(pid_ + '/' + tid_);
  return thread_;
}

// The value of "key": number somewhere in a JSON text, or "key": "text" without its quotes.
std::string_view MemberText(std::string_view json, std::string_view key) {
  const size_t found = json.find(key);
  if (found == std::string_view::npos) return {};
  size_t at = found + key.size();
  while (at < json.size() && (json[at] == ' ' || json[at] == ':' || json[at] == '\n')) ++at;
  if (at < json.size() && json[at] == '"') {
    return json.substr(at + 1, json.find('"', at + 1) - at - 1);
  }
  return json.substr(at, json.find_first_of(",}] \n", at) - at);
}

void ProfileBuilder::TakeMember(std::string_view key, std::string_view value) {
  if (key == "baseTimeNanoseconds") profile_.base_ns = ParseInteger(value);
  if (key == "record_shapes") profile_.shapes_recorded = value.starts_with('1');
  if (key == "distributedInfo") profile_.rank = ParseInteger(MemberText(value, "\"rank\""));
  if (key == "deviceProperties") profile_.device_name = MemberText(value, "\"name\"");
  if (key == "cuda_runtime_version" || key == "cupti_version") profile_.vendor = "cuda";
  if (key == "hip_runtime_version" || key == "roctracer_version") profile_.vendor = "rocm";
}

}  // namespace

namespace {

// One pass over the events; nothing where a second pass with all calls is needed.
Result<std::optional<Profile>> ReadOnce(ByteSource& source, Calls calls,
                                        const ReadOptions& options) {
  Profile profile;
  ProfileBuilder builder(profile, calls, options);
  EventSplitter splitter(source, builder);
  TRY(splitter.Run());
  if (splitter.bare() && splitter.events() > 0 && !builder.saw_event()) {
    return Fail(ErrorKind::kInput, "an array, but not of profile events: none has a 'ph'");
  }
  profile.events = splitter.events();
  profile.skipped = splitter.skipped();
  profile.bytes = source.bytes();
  profile.stored_bytes = source.stored_bytes();
  profile.loss.split = splitter.loss();
  profile.loss.damage = source.damage();
  if (builder.NeedsIdleCalls()) return std::optional<Profile>();
  return std::optional<Profile>(std::move(profile));
}

}  // namespace

Result<Profile> ReadProfile(ByteSource source, const ReadOptions& options) {
  std::optional<Profile> profile = TRY(ReadOnce(source, Calls::kLaunching, options));
  if (profile) return std::move(*profile);
  TRY(source.Restart());
  return std::move(*TRY(ReadOnce(source, Calls::kAll, options)));
}

std::string ContentHash(const Profile& profile) {
  Sha256Stream hash;
  // Numbers one after the other, as they are in memory.
  const auto add = [&](auto... numbers) {
    char bytes[(sizeof(numbers) + ...)];
    char* at = bytes;
    ((std::memcpy(at, &numbers, sizeof(numbers)), at += sizeof(numbers)), ...);
    hash.Add(bytes, sizeof(bytes));
  };
  add(profile.base_ns.value_or(0));
  add(profile.events);
  add(static_cast<uint64_t>(profile.ops.size()));
  std::vector<uint64_t> names(profile.text.size());
  for (const auto* launches : {&profile.kernels, &profile.copies}) {
    for (const Launch launch : *launches) {
      uint64_t& name = names[launch.name];
      if (name == 0) name = HashText(profile.text.Text(launch.name));
      add(launch.start_ns, launch.dur_ns, launch.device, name);
    }
  }
  return hash.Hex();
}

}  // namespace roofmark::trace
