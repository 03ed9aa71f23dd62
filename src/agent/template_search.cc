// SPDX-License-Identifier: Apache-2.0
#include "agent/template_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "base/hash.h"

namespace roofmark::agent {
namespace {

// Differences smaller than this are noise of the estimates; following them is walking at random.
constexpr double kStep = 0.005;
constexpr double kRefused = std::numeric_limits<double>::infinity();

using Scores = std::map<Point, double>;  // ln(time / original's); kRefused where a gate refused

// The walk that a search makes when it knows all scores. It stops at the first member whose score
// is not known yet: that one is the next proposal. Walking again with one more score known takes
// the same way, since every choice depends on the seed and on known scores alone.
class Walk {
 public:
  Walk(const Family& family, const Scores& scores, uint64_t seed)
      : family_(family), scores_(scores), random_(seed) {}

  // The next member to judge, and the one that it differs from in one parameter.
  struct Wish {
    Point point;
    std::optional<Point> from;
  };
  std::optional<Wish> Run(const Point& start) {
    if (!Knows(start)) return Wish{start, std::nullopt};
    Climb(start);
    while (!wish_ && scores_.size() < family_.MemberCount()) {
      const Point again = Draw();
      if (!Knows(again)) return Wish{again, std::nullopt};
      Climb(again);
    }
    return wish_;
  }

 private:
  bool Knows(const Point& point) const { return scores_.contains(point); }

  Point Draw() {
    while (true) {
      Point point;
      for (const Parameter& parameter : family_.parameters) {
        point.push_back(random_.Below(parameter.values.size()));
      }
      if (family_.Exists(point)) return point;
    }
  }

  void Climb(Point at) {
    for (bool moved = true; moved && !wish_;) {
      moved = false;
      for (const size_t parameter : Order()) {
        const Point best = BestAlong(parameter, at);
        if (wish_) return;
        moved = moved || best != at;
        at = best;
      }
    }
  }

  std::vector<size_t> Order() {
    std::vector<size_t> order(family_.parameters.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
    return order;
  }

  Point BestAlong(size_t parameter, const Point& at) {
    Point best = at;
    for (size_t value = 0; value < family_.parameters[parameter].values.size(); ++value) {
      Point other = at;
      other[parameter] = value;
      if (other == at || !family_.Exists(other)) continue;
      if (!Knows(other)) {
        wish_ = Wish{other, at};
        return at;
      }
      if (scores_.at(other) < scores_.at(best) - kStep) best = other;
    }
    return best;
  }

  const Family& family_;
  const Scores& scores_;
  Random random_;
  std::optional<Wish> wish_;
};

std::string Hypothesis(const Family& family, const Walk::Wish& wish) {
  if (!wish.from) return "a starting point: " + family.summary;
  for (size_t i = 0; i < wish.point.size(); ++i) {
    const Parameter& parameter = family.parameters[i];
    if (wish.point[i] == (*wish.from)[i]) continue;
    return fmt::format("{} {} instead of {}: {}", parameter.name,
                       parameter.values[wish.point[i]].Dump(),
                       parameter.values[(*wish.from)[i]].Dump(), parameter.why);
  }
  return family.summary;
}

}  // namespace

std::string TemplateSearch::Identity() const {
  return fmt::format("template search over {} ({}), seed {}", family_.name,
                     family_.hash.substr(0, 12), seed_);
}

Result<std::optional<Proposal>> TemplateSearch::Propose(const Context& context) {
  Scores scores;
  Point start(family_.parameters.size(), 0);
  // The first value of each, or where these exclude one another the first member in counting order.
  while (!family_.Exists(start)) family_.Advance(&start);
  if (const std::optional<Point> member = family_.MemberIn(context.original)) {
    start = *member;
    scores[start] = 0;
  }
  for (const PastStep& step : context.history) {
    const std::optional<Point> point = family_.PointOf(step.parameters);
    if (!point) {
      return Fail(ErrorKind::kInput, fmt::format("{} is no member of the family {}",
                                                 step.parameters.Dump(), family_.name));
    }
    scores[*point] = step.passed ? step.log_ratio : kRefused;
  }
  const std::optional<Walk::Wish> wish = Walk(family_, scores, seed_).Run(start);
  if (!wish) return std::nullopt;
  return Proposal{.source = family_.Render(wish->point),
                  .parameters = family_.ValuesOf(wish->point),
                  .hypothesis = Hypothesis(family_, *wish)};
}

}  // namespace roofmark::agent
