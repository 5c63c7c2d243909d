#include "tests/conformance/selection_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "strategies/read_preference.hpp"

namespace karmad::conformance {
namespace {

template <class Value, std::size_t N>
Value looked_up(const std::array<std::pair<std::string_view, Value>, N>& table,
                const std::string& word) {
  for (const auto& [name, value] : table)
    if (name == word) return value;
  throw std::runtime_error(fmt::format("unknown type {}", word));
}

constexpr std::array<std::pair<std::string_view, SetKind>, 6> kKinds{{
    {"Unknown", SetKind::unknown},
    {"Single", SetKind::direct},
    {"Sharded", SetKind::flat},
    {"ReplicaSetWithPrimary", SetKind::roles},
    {"ReplicaSetNoPrimary", SetKind::roles},
    {"LoadBalanced", SetKind::balanced},
}};

// Of the one address of a balanced set no role is ever known.
constexpr std::array<std::pair<std::string_view, Role>, 10> kRoles{{
    {"Unknown", Role::unknown},
    {"PossiblePrimary", Role::unknown},
    {"RSPrimary", Role::primary},
    {"RSSecondary", Role::replica},
    {"RSArbiter", Role::arbiter},
    {"RSOther", Role::other},
    {"RSGhost", Role::ghost},
    {"Standalone", Role::standalone},
    {"Mongos", Role::router},
    {"LoadBalancer", Role::unknown},
}};

Tags tags(const Json& object) {
  Tags all;
  for (const auto& [name, value] : object.GetObject()) all.push_back({text(name), text(value)});
  std::ranges::sort(all);
  return all;
}

std::string lower_case(std::string word) {
  for (auto& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

Mode mode(const std::string& word) {
  for (auto each : {Mode::primary, Mode::primary_preferred, Mode::secondary,
                    Mode::secondary_preferred, Mode::nearest})
    if (lower_case(std::string(name(each))) == lower_case(word)) return each;
  throw std::runtime_error(fmt::format("unknown mode {}", word));
}

}  // namespace

Micros micros(double milliseconds) {
  return Micros{std::llround(milliseconds * 1000)};
}

std::size_t DescribedSet::position(const std::string& address) const {
  return static_cast<std::size_t>(std::ranges::find(addresses, lower_case(address)) -
                                  addresses.begin());
}

Candidates DescribedSet::named(const std::vector<const Json*>& servers) const {
  Candidates found;
  for (const auto* server : servers) {
    const auto address = text(required(*server, "address"));
    if (position(address) == addresses.size())
      throw std::runtime_error(fmt::format("{} is not in the description", address));
    found.insert(position(address));
  }
  return found;
}

DescribedSet described(const Json& topology_description, Micros ping_interval) {
  DescribedSet set;
  set.picture.kind = looked_up(kKinds, text(required(topology_description, "type")));
  set.picture.ping_interval = ping_interval;
  for (const auto* server : elements(topology_description, "servers")) {
    MirrorFacts facts;
    facts.role = looked_up(kRoles, text(required(*server, "type")));
    if (const auto* given = field(*server, "tags")) facts.tags = tags(*given);
    if (const auto* rtt = field(*server, "avg_rtt_ms")) facts.rtt = micros(number(*rtt));
    if (const auto* updated = field(*server, "lastUpdateTime"))
      facts.updated = TimePoint(micros(number(*updated)));
    if (const auto* write = field(*server, "lastWrite"))
      facts.last_write = micros(number(required(*write, "lastWriteDate")));
    set.picture.mirrors.push_back(std::move(facts));
    set.addresses.push_back(lower_case(text(required(*server, "address"))));
  }
  return set;
}

ReadPreference preference(const Json& read_preference) {
  ReadPreference result;
  if (const auto* word = field(read_preference, "mode")) result.mode = mode(text(*word));
  for (const auto* set : elements(read_preference, "tag_sets"))
    result.tag_sets.push_back(tags(*set));
  if (const auto* limit = field(read_preference, "maxStalenessSeconds"))
    if (whole(*limit) != -1) result.max_staleness = std::chrono::seconds(whole(*limit));
  return result;
}

}  // namespace karmad::conformance
