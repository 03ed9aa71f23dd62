// SPDX-License-Identifier: Apache-2.0
// The laws of merging.
#include "model/aggregate.h"

#include "base/hash.h"
#include "base/testing.h"
#include "model/aggregate_for_tests.h"

namespace roofmark {
namespace {

Spread SpreadOf(const std::vector<int64_t>& values) {
  Spread spread;
  for (const int64_t value : values) spread.Add(value);
  return spread;
}

AggregateCell Cell(std::string op, int64_t tokens, Phase phase, int64_t ns) {
  return {.op = std::move(op),
          .axes = {{"tokens", tokens}},
          .dtypes = {{"x", "bf16"}},
          .phase = phase,
          .calls = 1,
          .launches = 2,
          .sum_ns = ns + 1,
          .exposed_ns = ns,
          .kernels = {{"kernel_of_" + std::to_string(tokens), {2, ns + 1}}},
          .durations = SpreadOf({ns / 2, ns - ns / 2 + 1}),
          .measures = {{"true.tokens", SpreadOf({tokens, tokens - 1})}}};
}

ProfileAggregate ProfileOf(std::string hash, std::vector<AggregateCell> cells) {
  ProfileAggregate profile{.hash = std::move(hash), .device = "Example GPU", .window_ns = 1000};
  return WithCells(std::move(profile), std::move(cells));
}

std::vector<ProfileAggregate> SomeProfiles() {
  std::vector<ProfileAggregate> profiles;
  Random random(3);
  for (int i = 0; i < 12; ++i) {
    std::vector<AggregateCell> cells;
    for (int64_t tokens = 1; tokens < 6; ++tokens) {
      cells.push_back(Cell(tokens % 2 == 0 ? "rms_norm" : "", tokens,
                           static_cast<Phase>(random.Below(4)),
                           static_cast<int64_t>(random.Below(1000))));
    }
    profiles.push_back(ProfileOf("hash" + std::to_string(i), std::move(cells)));
  }
  return profiles;
}

TEST(Aggregate, MergesInAnyOrderAndGroupingIntoTheSameBytes) {
  const std::vector<ProfileAggregate> profiles = SomeProfiles();
  Aggregate whole;
  for (const ProfileAggregate& profile : profiles) whole.Add(profile);
  const std::string bytes = whole.ToJson().Dump();
  Random random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<Aggregate> parts(1 + random.Below(5));
    std::vector<ProfileAggregate> shuffled = profiles;
    for (size_t i = shuffled.size(); i > 1; --i) {
      std::swap(shuffled[i - 1], shuffled[random.Below(i)]);
    }
    for (const ProfileAggregate& profile : shuffled) {
      parts[random.Below(parts.size())].Add(profile);
      if (random.Below(3) == 0) parts[random.Below(parts.size())].Add(profile);  // twice
    }
    while (parts.size() > 1) {
      const size_t into = random.Below(parts.size() - 1);
      parts[into].Merge(parts.back());
      parts.pop_back();
    }
    EXPECT_EQ(parts[0].ToJson().Dump(), bytes);
  }
}

TEST(Aggregate, CountsAProfileOnce) {
  Aggregate aggregate;
  aggregate.Add(ProfileOf("a", {Cell("op", 1, Phase::kDecode, 10)}));
  const Aggregate before = aggregate;
  aggregate.Merge(before);
  aggregate.Add(ProfileOf("a", {Cell("op", 1, Phase::kDecode, 10)}));
  EXPECT_EQ(aggregate, before);
}

TEST(Aggregate, KeepsTheAccountThatStatesMore) {
  ProfileAggregate bare = ProfileOf("a", {Cell("op", 1, Phase::kDecode, 10)});
  ProfileAggregate stated = bare;
  stated.application = "chat";
  stated.card_ms = 5;
  for (const bool first : {true, false}) {
    Aggregate aggregate;
    aggregate.Add(first ? bare : stated);
    aggregate.Add(first ? stated : bare);
    EXPECT_EQ(aggregate.profiles().at("a").application, "chat");
  }
}

TEST(Aggregate, AddsCellsOfOneKey) {
  Aggregate aggregate;
  aggregate.Add(ProfileOf("a", {Cell("op", 1, Phase::kDecode, 10), Cell("op", 2, Phase::kDecode, 1),
                                Cell("op", 1, Phase::kDecode, 5)}));
  const std::vector<AggregateCell>& cells = aggregate.profiles().at("a").cells;
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].exposed_ns, 15);
  EXPECT_EQ(cells[0].calls, 2);
  EXPECT_EQ(cells[0].kernels.at("kernel_of_1").launches, 4);
  EXPECT_DOUBLE_EQ(cells[0].DeployedNs(), 17.0 / 2);
}

TEST(Aggregate, KnowsTheWholeTimeOfACallThatTwoPhasesShare) {
  AggregateCell prefill = Cell("op", 40, Phase::kPrefill, 5999);  // 6000 ns of one call
  prefill.elsewhere_ns = 2000;
  AggregateCell decode = Cell("op", 40, Phase::kDecode, 1999);
  decode.calls = 0;
  decode.elsewhere_calls = 1;
  decode.elsewhere_ns = 6000;
  EXPECT_DOUBLE_EQ(prefill.DeployedNs(), 8000);
  EXPECT_DOUBLE_EQ(decode.DeployedNs(), 8000);
  Aggregate aggregate;
  aggregate.Add(ProfileOf("a", {prefill, decode, Cell("op", 40, Phase::kDecode, 3999)}));
  const auto read = Aggregate::FromJson(Json::Parse(aggregate.ToJson().Dump()).value());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, aggregate);
  const std::vector<AggregateCell>& cells = read->profiles().at("a").cells;
  ASSERT_EQ(cells.size(), 2U);
  for (const AggregateCell& cell : cells) {
    EXPECT_DOUBLE_EQ(cell.DeployedNs(), cell.phase == Phase::kPrefill ? 8000 : (8000 + 4000) / 2);
  }
}

TEST(Aggregate, ReadsBackWhatItWrote) {
  Aggregate aggregate;
  for (ProfileAggregate& profile : SomeProfiles()) aggregate.Add(std::move(profile));
  const auto read = Aggregate::FromJson(Json::Parse(aggregate.ToJson().Dump()).value());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, aggregate);
}

TEST(Aggregate, GivesBackTheSameBytesWhenABadProfileIsTakenOutAgain) {
  std::vector<ProfileAggregate> profiles = SomeProfiles();
  Aggregate without;
  for (size_t i = 1; i < profiles.size(); ++i) without.Add(profiles[i]);
  Aggregate aggregate = without;
  aggregate.Add(profiles[0]);
  EXPECT_NE(aggregate, without);
  EXPECT_TRUE(aggregate.Remove(profiles[0].hash));
  EXPECT_FALSE(aggregate.Remove(profiles[0].hash));
  EXPECT_EQ(aggregate.ToJson().Dump(), without.ToJson().Dump());
}

TEST(Aggregate, MeasuresTheLengthsOfEachCall) {
  AggregateCell cell{.op = "attention",
                     .axes = {{"heads", int64_t{8}},
                              {"kv_lens", std::vector<int64_t>{10, 20}},
                              {"q_lens", std::vector<int64_t>{1, 3}}},
                     .calls = 5};
  MeasureLengths(cell);
  EXPECT_EQ(cell.measures.at("kv_lens").count(), 10);
  EXPECT_EQ(cell.measures.at("kv_lens").sum(), 150);
  EXPECT_EQ(cell.measures.at("q_lens").max(), 3);
  EXPECT_EQ(cell.measures.at("kv_lens*q_lens").sum(), 5 * 70);
  EXPECT_FALSE(cell.measures.contains("heads"));
}

TEST(Aggregate, ReadsWhatVersionOneWrote) {
  const auto read = Aggregate::FromJson(
      Json::Parse(R"({"format": "roofmark-aggregate/1", "profiles": [{"hash": "a",
        "application": "chat", "card_ms": 5, "device": "", "window_ns": 9, "busy_ns": 3,
        "sum_ns": 3,
        "launches": 1, "events": 4, "lost_events": 0, "truncated": false, "kernel_names": ["k"],
        "cells": [{"operator": null, "phase": "decode", "axes": {}, "dtypes": {}, "calls": 1,
        "launches": 1, "sum_ns": 3, "exposed_ns": 3, "kernels": [[0, 1, 3]]}]}]})")
          .value());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->profiles().at("a").card_ms, 5);
  EXPECT_EQ(read->profiles().at("a").cells[0].durations.count(), 0);
}

TEST(Aggregate, RefusesDocumentsThatDoNotAddUp) {
  Aggregate aggregate;
  aggregate.Add(ProfileOf("a", {Cell("op", 1, Phase::kDecode, 10)}));
  const std::string text = aggregate.ToJson().Dump();
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    EXPECT_NE(changed.find(from), std::string::npos) << text;
    changed.replace(changed.find(from), from.size(), to);
    return Aggregate::FromJson(Json::Parse(changed).value());
  };
  EXPECT_THAT(with("aggregate/2", "aggregate/9"), HasError(ErrorKind::kInput, "aggregate/9"));
  EXPECT_THAT(with("\"exposed_ns\": 10", "\"exposed_ns\": 11"),
              HasError(ErrorKind::kInput, "profile 1: the cells add up to"));
  EXPECT_THAT(with("\"calls\": 1", "\"calls\": -1"), HasError(ErrorKind::kInput, "negative"));
  EXPECT_THAT(with("[[0, 2, 11]]", "[[7, 2, 11]]"), HasError(ErrorKind::kInput, "kernel_names"));
  EXPECT_THAT(with("\"durations\": [2", "\"durations\": [3"),
              HasError(ErrorKind::kInput, "durations: a spread must be"));
  EXPECT_THAT(with("\"phase\": \"decode\"", "\"phase\": \"odd\""),
              HasError(ErrorKind::kInput, "odd"));
}

}  // namespace
}  // namespace roofmark
