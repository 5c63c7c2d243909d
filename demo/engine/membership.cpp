#include "demo/engine/membership.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "demo/data/text.hpp"

namespace karmad::demo {

namespace {

constexpr std::array<SwitchHelp, 8> kHelp{{
    {"role", "primary|replica|arbiter|other|ghost|standalone|router",
     "the role that it reports; primary: it becomes the primary now"},
    {"set", "NAME", "name of its mirror set, and of its replication cluster; empty: not reported"},
    {"tags", "NAME:VALUE,NAME:VALUE", "its tags; empty: none"},
    {"lag", "SECONDS", "age of its newest update (default 0)"},
    {"generation", "NUMBER", "number of its newest update; each update increases it (default 0)"},
    {"hidden", "0|1", "whether it reports that it is hidden (default 0)"},
    {"draining", "0|1", "whether it reports that it will leave (default 0)"},
    {"cluster_state", "none|synced|donor|joining|disconnected|non_primary",
     "the state in SHOW STATUS LIKE 'cluster_%' (default none: no such rows)"},
}};

constexpr std::size_t kMostTags = 64;

const SwitchHelp* help_for(std::string_view name) {
  const auto* found = std::ranges::find(kHelp, name, &SwitchHelp::name);
  return found == kHelp.end() ? nullptr : found;
}

/// Whether "a|b|c" contains `word`.
bool is_one_of(std::string_view choices, std::string_view word) {
  while (!choices.empty()) {
    const auto choice = choices.substr(0, choices.find('|'));
    if (choice == word) return true;
    choices.remove_prefix(std::min(choices.size(), choice.size() + 1));
  }
  return false;
}

std::optional<std::map<std::string, std::string>> read_tags(std::string_view text) {
  std::map<std::string, std::string> out;
  while (!text.empty()) {
    const auto tag = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), tag.size() + 1));
    const auto colon = tag.find(':');
    if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
    out[std::string(tag.substr(0, colon))] = tag.substr(colon + 1);
  }
  if (out.size() > kMostTags) return std::nullopt;
  return out;
}

template <class T>
bool store(T& to, const std::optional<T>& from) {
  if (from) to = *from;
  return from.has_value();
}

bool store_flag(bool& to, std::string_view value) {
  if (value != "0" && value != "1") return false;
  to = value == "1";
  return true;
}

bool store_lag(double& to, std::string_view value) {
  const auto seconds = number_of<double>(value);
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0 || *seconds > 1e9) return false;
  to = *seconds;
  return true;
}

/// False: the value is invalid.
bool try_change(Membership& out, const SwitchHelp& help, std::string_view value, WallMs now) {
  if (help.name == "role") {
    if (!is_one_of(help.value, value)) return false;
    out.role = value;
    if (value == "primary") out.elected = std::max(now, out.elected + 1);
    return true;
  }
  if (help.name == "cluster_state") {
    if (is_one_of(help.value, value)) out.cluster_state = value;
    return is_one_of(help.value, value);
  }
  if (help.name == "set") {
    out.set = value;
    return true;
  }
  if (help.name == "tags") return store(out.tags, read_tags(value));
  if (help.name == "lag") return store_lag(out.lag_seconds, value);
  if (help.name == "generation") return store(out.generation, number_of<std::uint64_t>(value));
  return store_flag(help.name == "hidden" ? out.hidden : out.draining, value);
}

std::string tags_as_json(const Membership& membership) {
  std::string out = "{";
  for (const auto& [name, value] : membership.tags) {
    if (out.size() > 1) out += ',';
    append_quoted(out, name);
    out += ':';
    append_quoted(out, value);
  }
  return out + "}";
}

/// Sixteen digits, so that the texts sort like the elections.
std::string election_id(const Membership& membership) {
  return fmt::format("{:016x}", static_cast<std::uint64_t>(membership.elected));
}

}  // namespace

std::span<const SwitchHelp> membership_help() {
  return kHelp;
}

bool is_membership(std::string_view name) {
  return help_for(name) != nullptr;
}

std::optional<std::string> change(Membership& membership, std::string_view name,
                                  std::string_view value, WallMs now) {
  const auto* help = help_for(name);
  if (help == nullptr) return fmt::format("unknown switch '{}'", name);
  if (!try_change(membership, *help, value, now))
    return fmt::format("switch '{}' cannot be '{}', use {}", name, value, help->value);
  ++membership.counter;
  return std::nullopt;
}

bool takes_updates(const Membership& membership) {
  return is_one_of("primary|standalone|router", membership.role);
}

std::string write_hello(const Membership& membership, WallMs now) {
  auto out = fmt::format(R"({{"ok":true,"role":"{}")", membership.role);
  if (!membership.set.empty()) out += fmt::format(R"(,"set":{})", json_string(membership.set));
  if (!membership.me.empty()) out += fmt::format(R"(,"me":{})", json_string(membership.me));
  out += fmt::format(R"(,"hidden":{},"draining":{},"tags":{},"last_write_ms":{},"generation":{})",
                     membership.hidden, membership.draining, tags_as_json(membership),
                     now - static_cast<WallMs>(std::llround(membership.lag_seconds * 1000)),
                     membership.generation);
  if (membership.role == "primary")
    out += fmt::format(R"(,"election_id":"{}","set_version":1)", election_id(membership));
  return out + fmt::format(R"(,"process_id":{},"counter":{},"api":2}})",
                           json_string(membership.process_id), membership.counter);
}

std::string write_membership(const Membership& membership) {
  return fmt::format(
      R"({{"role":"{}","set":{},"me":{},"tags":{},"lag":{},"generation":{},"hidden":{},)"
      R"("draining":{},"cluster_state":"{}","election_id":"{}"}})",
      membership.role, json_string(membership.set), json_string(membership.me),
      tags_as_json(membership), membership.lag_seconds, membership.generation,
      membership.hidden ? 1 : 0, membership.draining ? 1 : 0, membership.cluster_state,
      election_id(membership));
}

std::vector<StatusRow> cluster_rows(const Membership& membership) {
  const auto& state = membership.cluster_state;
  if (state == "none") return {};
  const auto name = membership.set.empty() ? "demo" : membership.set;
  // A node that is not in its cluster reports only itself, in any state.
  const bool alone = state == "disconnected" || state == "non_primary";
  auto row = [&](std::string_view what, std::string value) {
    return StatusRow{fmt::format("cluster_{}_{}", name, what), std::move(value)};
  };
  return {{"cluster_name", name},
          row("status", alone ? state : "primary"),
          row("node_state", alone ? "closed" : state),
          row("last_committed", fmt::to_string(membership.generation))};
}

}  // namespace karmad::demo
