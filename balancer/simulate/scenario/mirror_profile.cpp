#include "balancer/simulate/scenario/mirror_profile.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <vector>

namespace karmad {
namespace {

using Assigned = std::expected<void, std::string>;
constexpr double kLongestMs = 3'600'000;

/// In (0, 1], so that it has a logarithm.
double positive(SeededRandom& random) {
  return 1 - random.uniform();
}

Micros from_ms(double ms) {
  return Micros{std::llround(ms * 1000)};
}

std::vector<std::string_view> split_at_colons(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(':');
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Assigned wrong(std::string_view usage) {
  return std::unexpected(fmt::format("expected {}", usage));
}

Assigned set_number(double& to, std::string_view value, double least, double most) {
  const auto number = parse_number(value, least, most);
  if (!number) return wrong(fmt::format("a number from {} to {}", least, most));
  to = *number;
  return {};
}

template <class Unsigned>
Assigned set_count(Unsigned& to, std::string_view value, unsigned least, unsigned most) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < least || number > most)
    return wrong(fmt::format("a whole number from {} to {}", least, most));
  to = number;
  return {};
}

Assigned set_service(MirrorProfile& profile, std::string_view value) {
  constexpr std::string_view kUsage =
      "none, fixed:MS, exp:MEAN_MS, lognormal:MEDIAN_MS:SIGMA or two:MS:OTHER_MS:PART";
  using Kind = ServiceTime::Kind;
  const auto parts = split_at_colons(value);
  ServiceTime service;
  if (parts[0] == "none" && parts.size() == 1) return profile.service = service, Assigned();
  if (parts[0] == "fixed" && parts.size() == 2) service.kind = Kind::fixed;
  if (parts[0] == "exp" && parts.size() == 2) service.kind = Kind::exponential;
  if (parts[0] == "lognormal" && parts.size() == 3) service.kind = Kind::lognormal;
  if (parts[0] == "two" && parts.size() == 4) service.kind = Kind::two;
  if (service.kind == Kind::none) return wrong(kUsage);
  const auto ms = parse_number(parts[1], 0.001, kLongestMs);
  const auto sigma = service.kind == Kind::lognormal ? parse_number(parts[2], 0, 5) : 0;
  const auto other = service.kind == Kind::two ? parse_number(parts[2], 0.001, kLongestMs) : 0;
  const auto part = service.kind == Kind::two ? parse_number(parts[3], 0, 1) : 0;
  if (!ms || !sigma || !other || !part) return wrong(kUsage);
  service.ms = *ms;
  service.sigma = *sigma;
  service.other_ms = *other;
  service.other_part = *part;
  profile.service = service;
  return {};
}

Assigned set_stall(MirrorProfile& profile, std::string_view value) {
  if (value == "off") {
    profile.stall_every = profile.stall_for = {};
    return {};
  }
  const auto parts = split_at_colons(value);
  const auto every = parse_number(parts[0], 1, kLongestMs);
  const auto pause = parts.size() == 2 ? parse_number(parts[1], 1, kLongestMs) : std::nullopt;
  if (!every || !pause || *pause >= *every) return wrong("off, or EVERY_MS:PAUSE_MS");
  profile.stall_every = from_ms(*every);
  profile.stall_for = from_ms(*pause);
  return {};
}

Assigned set_mode(MirrorProfile& profile, std::string_view value) {
  using enum MirrorProfile::Mode;
  constexpr std::array<std::pair<std::string_view, MirrorProfile::Mode>, 4> kModes{
      {{"ok", ok}, {"refuse", refuse}, {"blackhole", blackhole}, {"freeze", freeze}}};
  for (const auto& [name, mode] : kModes)
    if (name == value) return profile.mode = mode, Assigned();
  return wrong("ok, refuse, blackhole or freeze");
}

Assigned set_cold(MirrorProfile& profile, std::string_view value) {
  const auto parts = split_at_colons(value);
  const auto factor = parse_number(parts[0], 1, 1000);
  unsigned requests = 0;
  if (!factor || parts.size() != 2 || !set_count(requests, parts[1], 1, 100'000'000))
    return wrong("FACTOR:REQUESTS, such as 8:2000");
  profile.cold_factor = *factor;
  profile.cold_requests = requests;
  ++profile.cold_starts;
  return {};
}

Assigned set_delay(Micros& to, std::string_view value) {
  double ms = 0;
  if (auto done = set_number(ms, value, 0, 60'000); !done) return done;
  to = from_ms(ms);
  return {};
}

struct ProfileKey {
  std::string_view name;
  Assigned (*set)(MirrorProfile&, std::string_view value);
};
using P = MirrorProfile;
using V = std::string_view;
constexpr std::array kKeys{
    ProfileKey{"svc", set_service},
    ProfileKey{"slow", [](P& p, V v) { return set_number(p.slow, v, 0.001, 1e6); }},
    ProfileKey{"k", [](P& p, V v) { return set_count(p.servers, v, 0, 100'000); }},
    ProfileKey{"queue",
               [](P& p, V v) {
                 if (v == "-1") return p.queue.reset(), Assigned();
                 return set_count(p.queue, v, 0, 1'000'000);
               }},
    ProfileKey{"rate", [](P& p, V v) { return set_number(p.rate, v, 0, 1e8); }},
    ProfileKey{"over", [](P& p, V v) { return set_count(p.overload_status, v, 400, 599); }},
    ProfileKey{"retry_after", [](P& p, V v) { return set_count(p.retry_after, v, 0, 3600); }},
    ProfileKey{"err", [](P& p, V v) { return set_number(p.errors, v, 0, 1); }},
    ProfileKey{"errcode", [](P& p, V v) { return set_count(p.error_status, v, 400, 599); }},
    ProfileKey{"errms", [](P& p, V v) { return set_delay(p.error_delay, v); }},
    ProfileKey{"rst", [](P& p, V v) { return set_number(p.resets, v, 0, 1); }},
    ProfileKey{"stall", set_stall},
    ProfileKey{"mode", set_mode},
    ProfileKey{"health",
               [](P& p, V v) {
                 if (v != "follow" && v != "ok") return wrong("ok or follow");
                 p.pings_see_errors = v == "follow";
                 return Assigned();
               }},
    ProfileKey{"load",
               [](P& p, V v) {
                 if (v != "report" && v != "off") return wrong("report or off");
                 p.reports_load = v == "report";
                 return Assigned();
               }},
    ProfileKey{"cold", set_cold},
    ProfileKey{"net", [](P& p, V v) { return set_delay(p.network, v); }},
};
constexpr auto kNames = [] {
  std::array<std::string_view, kKeys.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kKeys[i].name;
  return names;
}();

}  // namespace

double ServiceTime::draw(SeededRandom& random) const {
  switch (kind) {
    case Kind::none:
      break;
    case Kind::fixed:
      return ms * 1000;
    case Kind::exponential:
      return -ms * 1000 * std::log(positive(random));
    case Kind::two:
      return (random.uniform() < other_part ? other_ms : ms) * 1000;
    case Kind::lognormal: {
      // Box and Muller; the second of the two numbers is not used.
      const auto radius = std::sqrt(-2 * std::log(positive(random)));
      const auto normal = radius * std::cos(2 * std::numbers::pi * random.uniform());
      return ms * 1000 * std::exp(sigma * normal);
    }
  }
  return 0;
}

double ServiceTime::mean_micros() const {
  if (kind == Kind::none) return 0;
  if (kind == Kind::two) return (ms + other_part * (other_ms - ms)) * 1000;
  return ms * 1000 * (kind == Kind::lognormal ? std::exp(sigma * sigma / 2) : 1);
}

std::expected<void, std::string> assign(MirrorProfile& profile, std::string_view key,
                                        std::string_view value) {
  for (const auto& known : kKeys)
    if (known.name == key) return known.set(profile, value);
  return std::unexpected(fmt::format("unknown key {}", key));
}

std::span<const std::string_view> profile_keys() {
  return kNames;
}

std::optional<double> parse_number(std::string_view text, double least, double most) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  // False for nan, too.
  if (!(number >= least && number <= most)) return std::nullopt;
  return number;
}

}  // namespace karmad
