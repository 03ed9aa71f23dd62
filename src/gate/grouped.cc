// SPDX-License-Identifier: Apache-2.0
#include "gate/grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "device/compare.h"

namespace roofmark::gate {
namespace {

using Values = std::vector<int64_t>;

Result<Values> ReadValues(device::Arena& arena, const device::TensorPlace& place) {
  const std::string bytes = TRY(arena.Read(place.offset, place.tensor.Bytes()));
  Values values(static_cast<size_t>(place.tensor.Elements()));
  if (place.tensor.dtype == DType::kI64) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  CHECK(place.tensor.dtype == DType::kI32);  // the card reader refuses others
  for (size_t i = 0; i < values.size(); ++i) {
    int32_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    values[i] = value;
  }
  return values;
}

// Where each group begins; the last entry is the number of elements. What lies outside of all
// offsets is a group of its own.
Result<Values> EdgesFromOffsets(const Values& offsets, int64_t elements) {
  Values edges = {0};
  for (const int64_t offset : offsets) {
    if (offset < edges.back() || offset > elements) {
      return Fail(ErrorKind::kInput,
                  fmt::format("the reference's offset {} follows {} of {} elements", offset,
                              edges.back(), elements));
    }
    edges.push_back(offset);
  }
  edges.push_back(elements);
  return edges;
}

Values EdgesFromLabels(const Values& labels, int64_t elements) {
  Values edges = {0};
  if (labels.empty()) return {0, elements};
  const auto blocks = static_cast<int64_t>(labels.size());
  const int64_t block = (elements + blocks - 1) / blocks;
  for (size_t i = 1; i < labels.size(); ++i) {
    if (labels[i] != labels[i - 1]) {
      edges.push_back(std::min(static_cast<int64_t>(i) * block, elements));
    }
  }
  edges.push_back(elements);
  return edges;
}

void SortGroups(const Values& edges, Values* values) {
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    std::sort(values->begin() + edges[i], values->begin() + edges[i + 1]);
  }
}

device::Comparison Compare(const Values& got, const Values& want) {
  device::Comparison found{.elements = static_cast<int64_t>(want.size())};
  // -1 is what was never written, unless it is expected.
  found.poisoned = std::max<int64_t>(0, std::ranges::count(got, -1) - std::ranges::count(want, -1));
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;
    if (found.wrong++ > 0) continue;
    found.first_wrong = static_cast<int64_t>(i);
    found.got = static_cast<double>(got[i]);
    found.want = static_cast<double>(want[i]);
  }
  found.max_ratio = found.wrong > 0 ? device::kHopeless : 0;
  found.within = found.wrong == 0;
  return found;
}

}  // namespace

Result<device::Comparison> CompareGrouped(device::Arena& got, device::Arena& want, size_t place,
                                          const Tolerance& tolerance) {
  const std::vector<device::TensorPlace>& places = want.layout().places;
  const auto groups = std::ranges::find(
      places, tolerance.groups, [](const device::TensorPlace& at) { return at.tensor.name; });
  CHECK(groups != places.end());  // the card reader refuses cards without it
  const Values keys = TRY(ReadValues(want, *groups));
  const int64_t elements = places[place].tensor.Elements();
  const Values edges = tolerance.group_by == GroupBy::kLabels
                           ? EdgesFromLabels(keys, elements)
                           : TRY(EdgesFromOffsets(keys, elements));
  Values mine = TRY(ReadValues(got, places[place]));
  Values theirs = TRY(ReadValues(want, places[place]));
  SortGroups(edges, &mine);
  SortGroups(edges, &theirs);
  return Compare(mine, theirs);
}

}  // namespace roofmark::gate
