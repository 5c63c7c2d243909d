#include "config/check_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {

namespace {

constexpr unsigned kSensibleRetries = 8;  // the highest value that the search server recommends

}  // namespace

bool is_target(std::string_view text) {
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), [](char c) {
           return c > 0x20 && c < 0x7f && c != '#';
         });
}

void CheckSteps::check_ping_path(const std::optional<Located<std::string>>& path) {
  if (path && !is_target(path->value))
    problem(path->at,
            fmt::format("ping_path is not the path of a URL: {}", in_quotes(path->value)));
}

void CheckSteps::check_preference(const InheritedByTables& here, const InheritedByTables& above,
                                  std::string_view level) {
  const auto without_mode = [&](std::string_view key, const Place& at) {
    problem(at, fmt::format("{} needs a read_preference beside it in {}, as in "
                            "read_preference = nearest",
                            key, level));
  };
  const bool has_mode = here.read_preference && is_own(here.read_preference, above.read_preference);
  if (here.tag_sets && is_own(here.tag_sets, above.tag_sets) && !has_mode)
    without_mode("tag_sets", here.tag_sets->at);
  const auto& staleness = here.max_staleness;
  if (!staleness || !is_own(staleness, above.max_staleness)) return;
  if (!has_mode) without_mode("max_staleness", staleness->at);
  if (staleness->value > 1s && staleness->value % 1s != 0us)
    problem(staleness->at, fmt::format("max_staleness is not a whole number of seconds: {}",
                                       time_text(staleness->value)));
}

void CheckSteps::check_retries(unsigned count, const Place& at) {
  if (count > kSensibleRetries)
    notice(at, fmt::format("{} retries: more than {} rarely help", count, kSensibleRetries));
}

void CheckSteps::check_timeouts(const InheritedByTables& owner) {
  const auto whole = searchd_.request_timeout.value;
  for (const auto& [name, timeout] :
       {std::pair("agent_connect_timeout", owner.agent_connect_timeout),
        std::pair("agent_query_timeout", owner.agent_query_timeout)})
    if (timeout.value > whole)
      notice(timeout.at.line != 0 ? timeout.at : searchd_.request_timeout.at,
             fmt::format("{} ({}) can never be reached: request_timeout ends the whole "
                         "request after {}",
                         name, time_text(timeout.value), time_text(whole)));
}

void CheckSteps::check_search_times(const InheritedByTables& owner) {
  const auto whole = searchd_.request_timeout.value;
  if (const auto& first = owner.agent_first_byte_timeout; first && first->value > whole)
    notice(first->at, fmt::format("agent_first_byte_timeout ({}) can never be reached: "
                                  "request_timeout ends the whole request after {}",
                                  time_text(first->value), time_text(whole)));
  if (!owner.search_timeouts) return;
  for (const auto time : owner.search_timeouts->value)
    if (time > whole)
      notice(owner.search_timeouts->at,
             fmt::format("search_timeouts ({}) can never be reached: request_timeout ends the "
                         "whole request after {}",
                         time_text(time), time_text(whole)));
}

void CheckSteps::check_burst(std::string_view name, const Located<Rate>& rate,
                             const Located<Micros>& burst) {
  if (!rate.value.limits() || rate.value.in(burst.value) >= 1) return;
  problem(
      rate.at,
      fmt::format("{}_rate = {} admits nothing: {}_burst = {} is too short to save up one; "
                  "make it at least {}",
                  name, rate_text(rate.value), name, time_text(burst.value),
                  time_text((rate.value.per + Micros(rate.value.count - 1)) / rate.value.count)));
}

}  // namespace karmad
