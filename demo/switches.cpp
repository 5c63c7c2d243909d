#include "demo/switches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "demo/data/text.hpp"
#include "demo/engine/membership.hpp"

namespace karmad::demo {

namespace {

constexpr std::array<std::pair<std::string_view, Mode>, 16> kModes{{
    {"ok", Mode::ok},
    {"chunked", Mode::chunked},
    {"refuse", Mode::refuse},
    {"blackhole", Mode::blackhole},
    {"reset", Mode::reset},
    {"close_before", Mode::close_before},
    {"close_within", Mode::close_within},
    {"close_after", Mode::close_after},
    {"not_http", Mode::not_http},
    {"not_json", Mode::not_json},
    {"wrong_json", Mode::wrong_json},
    {"truncated", Mode::truncated},
    {"short_body", Mode::short_body},
    {"long_body", Mode::long_body},
    {"huge", Mode::huge},
    {"garbage", Mode::garbage},
}};

/// The modes from which `garbage` chooses.
constexpr std::array kGarbage{Mode::not_http,   Mode::not_json,  Mode::wrong_json,  Mode::truncated,
                              Mode::short_body, Mode::long_body, Mode::close_within};

constexpr std::array<SwitchHelp, 11> kHelp{{
    {"mode",
     "ok|chunked|refuse|blackhole|reset|close_before|close_within|close_after|not_http|"
     "not_json|wrong_json|truncated|short_body|long_body|huge|garbage",
     "the behaviour for requests"},
    {"mode_rate", "0..1", "share of the requests affected by the mode (default 1)"},
    {"latency", "none|fixed:MS|exp:MEAN_MS|uniform:MS:MS", "time added to each answer"},
    {"stall", "LENGTH_MS:EVERY_MS|none",
     "every EVERY_MS there is a pause of LENGTH_MS without answers"},
    {"error_rate", "0..1", "share of the requests answered with status 500"},
    {"overload", "0..1", "share of the requests refused without delay"},
    {"overload_status", "503|429", "status of a refusal (default 503)"},
    {"retry_after", "SECONDS|none", "Retry-After of a refusal (default 1)"},
    {"pings", "0|1", "whether GET /, /healthz and /hello are affected like searches (default 1)"},
    {"for", "SECONDS", "time after which the switches above are reset; 0: never (default)"},
    {"reset", "1", "resets the switches above, before the others of the same request are set"},
}};

std::optional<double> number(std::string_view text) {
  const auto out = number_of<double>(text);
  return out && std::isfinite(*out) ? out : std::nullopt;
}

std::optional<double> number_within(std::string_view text, double least, double most) {
  const auto out = number(text);
  return out && *out >= least && *out <= most ? out : std::nullopt;
}

/// "a:b" as two numbers.
std::optional<std::pair<double, double>> two_numbers(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto first = number(text.substr(0, colon));
  const auto second = number(text.substr(colon + 1));
  if (!first || !second || *first < 0 || *second < *first) return std::nullopt;
  return std::pair{*first, *second};
}

std::optional<Latency> read_latency(std::string_view text) {
  using LatencyKind = Latency::Kind;
  if (text == "none" || text == "0") return Latency{};
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto kind = text.substr(0, colon);
  const auto rest = text.substr(colon + 1);
  if (kind == "uniform") {
    const auto both = two_numbers(rest);
    if (!both) return std::nullopt;
    return Latency{LatencyKind::uniform, both->first, both->second};
  }
  const auto value = number(rest);
  if (!value || *value < 0) return std::nullopt;
  if (kind == "fixed") return Latency{LatencyKind::fixed, *value, 0};
  if (kind == "exp") return Latency{LatencyKind::exponential, *value, 0};
  return std::nullopt;
}

template <class T>
bool store(T& to, const std::optional<double>& from) {
  if (from) to = static_cast<T>(*from);
  return from.has_value();
}

/// Whether the value is valid; nothing for an unknown name.
std::optional<bool> try_change(Switches& out, std::string_view name, std::string_view value) {
  if (name == "mode") {
    const auto* found = std::find_if(kModes.begin(), kModes.end(),
                                     [&](const auto& mode) { return mode.first == value; });
    if (found != kModes.end()) out.mode = found->second;
    return found != kModes.end();
  }
  if (name == "mode_rate") return store(out.mode_rate, number_within(value, 0, 1));
  if (name == "error_rate") return store(out.error_rate, number_within(value, 0, 1));
  if (name == "overload") return store(out.overload, number_within(value, 0, 1));
  if (name == "overload_status") {
    if (value != "503" && value != "429") return false;
    return store(out.overload_status, number(value));
  }
  if (name == "retry_after") {
    if (value == "none") value = "-1";
    return store(out.retry_after, number_within(value, -1, 3600));
  }
  if (name == "latency") {
    const auto latency = read_latency(value);
    if (latency) out.latency = *latency;
    return latency.has_value();
  }
  if (name == "stall") {
    const auto both = value == "none" ? std::pair{0.0, 0.0} : two_numbers(value);
    if (both) out.stall_length = Millis{both->first}, out.stall_every = Millis{both->second};
    return both.has_value();
  }
  if (name == "pings") {
    if (value != "0" && value != "1") return false;
    out.pings = value == "1";
    return true;
  }
  if (name == "for") return store(out.for_seconds, number_within(value, 0, 86'400));
  if (name == "reset") {
    out = {};
    return true;
  }
  return std::nullopt;
}

std::string latency_text(const Latency& latency) {
  switch (latency.kind) {
    case Latency::Kind::none:
      return "none";
    case Latency::Kind::fixed:
      return fmt::format("fixed:{}", latency.first);
    case Latency::Kind::exponential:
      return fmt::format("exp:{}", latency.first);
    case Latency::Kind::uniform:
      return fmt::format("uniform:{}:{}", latency.first, latency.second);
  }
  return "none";
}

Millis random_latency(const Latency& latency, Dice& dice) {
  switch (latency.kind) {
    case Latency::Kind::none:
      return Millis{0};
    case Latency::Kind::fixed:
      return Millis{latency.first};
    case Latency::Kind::exponential:
      return Millis{-latency.first * std::log1p(-dice.fraction())};
    case Latency::Kind::uniform:
      return Millis{latency.first + (latency.second - latency.first) * dice.fraction()};
  }
  return Millis{0};
}

/// The time until the current pause ends; zero outside of pauses.
Millis rest_of_stall(const Switches& switches, Millis since) {
  if (switches.stall_every.count() <= 0) return Millis{0};
  const Millis into{std::fmod(since.count(), switches.stall_every.count())};
  return std::max(Millis{0}, switches.stall_length - into);
}

}  // namespace

std::string_view name_of(Mode mode) {
  for (const auto& [name, known] : kModes)
    if (known == mode) return name;
  return "ok";
}

std::span<const SwitchHelp> switch_help() {
  return kHelp;
}

std::optional<std::string> change(Switches& switches, std::string_view name,
                                  std::string_view value) {
  const auto understood = try_change(switches, name, value);
  if (understood == true) return std::nullopt;
  if (!understood) {
    std::string known;
    for (const auto& help : kHelp) known += fmt::format(" {}", help.name);
    for (const auto& help : membership_help()) known += fmt::format(" {}", help.name);
    return fmt::format("unknown switch '{}'; the switches are:{}", name, known);
  }
  for (const auto& help : kHelp)
    if (help.name == name)
      return fmt::format("switch '{}' cannot be '{}', use {}", name, value, help.value);
  return fmt::format("switch '{}' cannot be '{}'", name, value);
}

std::string write_switches(const Switches& switches) {
  return fmt::format(
      R"({{"mode":"{}","mode_rate":{},"latency":"{}","stall":"{}","error_rate":{},"overload":{},)"
      R"("overload_status":{},"retry_after":{},"pings":{},"for":{}}})",
      name_of(switches.mode), switches.mode_rate, latency_text(switches.latency),
      switches.stall_every.count() > 0
          ? fmt::format("{}:{}", switches.stall_length.count(), switches.stall_every.count())
          : "none",
      switches.error_rate, switches.overload, switches.overload_status,
      switches.retry_after < 0 ? "\"none\"" : fmt::to_string(switches.retry_after),
      switches.pings ? 1 : 0, switches.for_seconds);
}

Effects decide(const Switches& switches, Purpose purpose, Millis since, Dice& dice) {
  Effects out;
  if (purpose == Purpose::ping && !switches.pings) return out;
  if (dice.fraction() < switches.mode_rate) out.mode = switches.mode;
  if (out.mode == Mode::garbage) out.mode = kGarbage[dice.below(kGarbage.size())];
  out.error = dice.fraction() < switches.error_rate;
  out.overloaded = dice.fraction() < switches.overload;
  out.wait = rest_of_stall(switches, since);
  const auto latency = random_latency(switches.latency, dice);
  if (!out.overloaded) out.wait += latency;  // a refusal because of overload has no delay
  return out;
}

}  // namespace karmad::demo
