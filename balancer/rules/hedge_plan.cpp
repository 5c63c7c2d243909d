#include "balancer/rules/hedge_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "config/settings/units.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

using namespace std::chrono_literals;
using HedgeKind = HedgeSetting::Kind;

constexpr Micros kLongestThreshold = 1h;

// The defaults of CO-085, if no threshold is configured.
constexpr Micros kDefaultThreshold = 1s;
constexpr Micros kDefaultStep = 500ms;

/// Waiting requests shall not keep the worker busy with asking for the budget.
constexpr Micros kLeastPostponement = 1ms;

bool is_on(const std::optional<HedgeSetting>& setting) {
  return setting && setting->kind != HedgeKind::off;
}

std::optional<Micros> threshold_of(const HedgeSetting& setting, const RecentLatency& measured) {
  if (setting.kind == HedgeKind::off) return std::nullopt;
  if (setting.kind == HedgeKind::after) return setting.after;
  if (measured.samples < kEnoughSamples) return std::nullopt;
  return setting.kind == HedgeKind::p95 ? measured.p95 : measured.p99;
}

}  // namespace

std::expected<HedgeSetting, std::string> parse_hedge(std::string_view text) {
  const auto word = lower(text.substr(0, 4));  // one longer than any word
  if (word == "off") return HedgeSetting{};
  if (word == "p95") return HedgeSetting{.kind = HedgeKind::p95};
  if (word == "p99") return HedgeSetting{.kind = HedgeKind::p99};
  const auto time = parse_time(text, 1ms);
  if (!time)
    return std::unexpected(
        fmt::format("{} is neither off, p95, p99 nor a time such as 50ms", in_quotes(text)));
  if (*time == 0us) return std::unexpected("it must not be 0; write off for no hedging");
  if (*time > kLongestThreshold)
    return std::unexpected(
        fmt::format("it is longer than {}: {}", time_text(kLongestThreshold), time_text(*time)));
  return HedgeSetting{.kind = HedgeKind::after, .after = *time};
}

std::string text(const HedgeSetting& setting) {
  static constexpr auto kNames = enumerators<HedgeKind>();
  return setting.kind == HedgeKind::after ? time_text(setting.after)
                                          : std::string(kNames[setting.kind]);
}

Hedging hedging_in_force(const HedgeWords& words, Micros request_timeout) {
  if (words.disabled) return {};
  if (words.request) return {*words.request, words.step};
  if (!words.preference) return {words.table.value_or(words.instance), words.step};
  if (!*words.preference) return {};
  if (is_on(words.table)) return {*words.table, words.step};
  if (is_on(words.instance)) return {words.instance, words.step};
  const auto after = std::max(std::min(kDefaultThreshold, request_timeout / 2), 1us);
  return {{.kind = HedgeKind::after, .after = after}, words.step.value_or(kDefaultStep)};
}

std::optional<HedgeRules> hedge_rules(const HedgeChance& chance) {
  if (!chance.read || chance.mirrors < 2) return std::nullopt;
  const auto others = static_cast<unsigned>(std::min<std::size_t>(chance.mirrors - 1, kMostHedges));
  const auto extra = std::min(chance.max, others);
  const auto threshold = threshold_of(chance.hedging.setting, chance.measured);
  if (extra == 0 || !threshold) return std::nullopt;
  return HedgeRules{*threshold, chance.hedging.step.value_or(*threshold), extra};
}

std::string text(const HedgeRules& rules) {
  return fmt::format("t:{}, s:{}, w:False", time_text(rules.threshold), time_text(rules.step));
}

bool is_final_status(unsigned status, unsigned sub_status) {
  if (status == 404) return sub_status == 0;
  return status <= 401 || status == 405 || status == 409 || status == 412 || status == 413;
}

RaceEnd race_end(Outcome outcome, unsigned status, unsigned sub_status) {
  const bool mistaken = outcome == Outcome::client_mistake;
  if (outcome == Outcome::agent_error) return RaceEnd::not_final;
  if (!mistaken && !is_answered(outcome)) return RaceEnd::nothing;
  const bool is_final = (mistaken && status >= 500) || is_final_status(status, sub_status);
  return is_final ? RaceEnd::final : RaceEnd::not_final;
}

void HedgePlan::sent(TimePoint now) {
  assert(sent_ < out_.size());
  out_[sent_++] = true;
  ++still_out_;
  if (rules_) next_ = now + (sent_ == 1 ? rules_->threshold : rules_->step);
}

std::optional<TimePoint> HedgePlan::next_at() const {
  if (!rules_ || best_ == RaceEnd::final || sent_ == 0 || sent_ > rules_->extra)
    return std::nullopt;
  return next_;
}

void HedgePlan::postpone(TimePoint now) {
  if (rules_) next_ = now + std::max(rules_->step, kLeastPostponement);
}

void HedgePlan::ended(std::size_t attempt, RaceEnd end, TimePoint now) {
  if (!is_out(attempt)) return;
  out_[attempt] = false;
  --still_out_;
  if (best_ == RaceEnd::final) return;
  if (!winner_ || end != RaceEnd::nothing || best_ == RaceEnd::nothing) {
    winner_ = attempt;
    best_ = end;
  }
  next_ = std::min(next_, now);
}

bool HedgePlan::is_over() const {
  if (best_ == RaceEnd::final) return true;
  return winner_ && still_out_ == 0 && !next_at();
}

}  // namespace karmad
