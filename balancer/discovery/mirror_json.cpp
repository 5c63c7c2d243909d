#include "balancer/discovery/mirror_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>

#include "config/agent_line.hpp"
#include "config/agent_options.hpp"
#include "config/settings/address.hpp"
#include "config/settings/words.hpp"
#include "config/text/closest.hpp"
#include "strategies/role.hpp"
#include "strategies/tags_text.hpp"

namespace karmad {
namespace {

constexpr std::array<std::string_view, 8> kEntryMembers{"address", "table", "shard",  "remote",
                                                        "role",    "tags",  "weight", "state"};

std::unexpected<std::string> wrong(std::string_view name, std::string why) {
  return std::unexpected(fmt::format("{}: {}", name, why));
}

std::string_view text_of(const JsonValue& value) {
  return {value.GetString(), value.GetStringLength()};
}

std::expected<unsigned, std::string> read_number(const JsonValue& value, unsigned least,
                                                 unsigned most) {
  if (value.IsUint() && value.GetUint() >= least && value.GetUint() <= most) return value.GetUint();
  return std::unexpected(
      fmt::format("expected a whole number from {} to {}, found {}", least, most, shown(value)));
}

std::expected<std::string, std::string> read_table_name(const JsonValue& value) {
  if (value.IsString() && is_table_name(text_of(value))) return std::string(text_of(value));
  return std::unexpected(fmt::format("expected the name of a table, found {}", shown(value)));
}

std::expected<Address, std::string> read_address(const JsonValue& value) {
  if (!value.IsString())
    return std::unexpected(
        fmt::format("expected a text like 10.0.0.1:9308, found {}", shown(value)));
  const auto text = text_of(value);
  Address address;
  if (text.starts_with('/')) {
    auto path = parse_unix_path(text);
    if (!path) return std::unexpected(path.error().why);
    address.unix_path = *std::move(path);
    return address;
  }
  const auto bracket = text.starts_with('[') ? text.find(']') : 0;
  const auto colon = text.find(':', std::min(bracket, text.size()));
  if (colon == text.npos)
    return std::unexpected(fmt::format("expected host:port, found {}", shown(value)));
  auto host = parse_host(text.substr(0, colon));
  if (!host) return std::unexpected(host.error().why);
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::unexpected(port.error().why);
  if (*port == 0) return std::unexpected("an agent cannot have port 0");
  address.host = *std::move(host);
  address.port = *port;
  return address;
}

/// `name:value;name:value`, or an object.
std::expected<std::string, std::string> read_tags(const JsonValue& value) {
  std::string text;
  if (value.IsString()) {
    text = text_of(value);
  } else if (value.IsObject()) {
    for (const auto& [name, tag] : value.GetObject()) {
      if (!tag.IsString())
        return std::unexpected(
            fmt::format("expected a text for {}, found {}", shown(name), shown(tag)));
      text += fmt::format("{}{}:{}", text.empty() ? "" : ";", text_of(name), text_of(tag));
    }
  } else {
    return std::unexpected(
        fmt::format("expected an object or name:value;name:value, found {}", shown(value)));
  }
  if (const auto tags = parse_tags(text, ';'); !tags) return std::unexpected(tags.error());
  return text;
}

std::expected<std::string, std::string> read_role(const JsonValue& value) {
  if (value.IsString())
    if (const auto role = role_named(text_of(value)); role && *role != Role::unknown)
      return std::string(text_of(value));
  return std::unexpected(fmt::format("expected one of {}, found {}",
                                     fmt::join(std::span(kRoleNames.all()).subspan(1), ", "),
                                     shown(value)));
}

std::expected<ServiceState, std::string> read_state(const JsonValue& value) {
  if (value.IsString())
    if (const auto state = kWords<ServiceState>.find(text_of(value))) return *state;
  return std::unexpected(fmt::format("expected one of {}, found {}",
                                     fmt::join(words<ServiceState>(), ", "), shown(value)));
}

/// Stores the value, or returns the error.
template <class T, class Into>
std::optional<std::string> take(std::expected<T, std::string> read, Into& into) {
  if (!read) return std::move(read.error());
  into = *std::move(read);
  return std::nullopt;
}

std::optional<std::string> read_member(std::string_view name, const JsonValue& value,
                                       FoundEntry& entry) {
  auto& mirror = entry.mirror;
  if (name == "address") return take(read_address(value), mirror.address);
  if (name == "table") return take(read_table_name(value), entry.table);
  if (name == "shard") return take(read_number(value, 1, kMostShards), entry.shard);
  if (name == "remote") return take(read_table_name(value), mirror.remote);
  if (name == "role") return take(read_role(value), mirror.role);
  if (name == "tags") return take(read_tags(value), mirror.tags);
  if (name == "weight") return take(read_number(value, 0, kMostWeight), mirror.weight);
  if (name == "state") return take(read_state(value), mirror.state);
  return fmt::format("unknown{}; known are {}", suggestion(name, kEntryMembers),
                     fmt::join(kEntryMembers, ", "));
}

}  // namespace

std::expected<FoundEntry, std::string> read_entry(const JsonValue& value) {
  if (!value.IsObject())
    return std::unexpected(fmt::format("expected an object, found {}", shown(value)));
  FoundEntry entry;
  std::set<std::string_view> seen;
  for (const auto& [key, of] : value.GetObject()) {
    const auto name = text_of(key);
    if (!seen.insert(name).second) return wrong(shown(key), "it is given twice");
    if (auto why = read_member(name, of, entry)) return wrong(shown(key), *std::move(why));
  }
  if (!seen.contains("address")) return wrong("'address'", "it is missing");
  return entry;
}

std::expected<void, std::string> check_entries(const FoundEntries& entries) {
  if (entries.empty()) return std::unexpected("there is no mirror");
  if (entries.size() > kMostEntries)
    return std::unexpected(fmt::format("there are more than {} mirrors", kMostEntries));
  std::set<std::tuple<std::string, unsigned, Address, std::string>> seen;
  for (const auto& [table, shard, mirror] : entries)
    if (!seen.emplace(table.value_or(""), shard, mirror.address, mirror.remote.value_or("")).second)
      return std::unexpected(
          fmt::format("{} is given twice in shard {}", text(mirror.address), shard));
  return {};
}

std::expected<FoundEntries, std::string> read_entries(std::string_view json) {
  const auto document = parse_source(json);
  if (!document) return std::unexpected(document.error());
  if (!document->IsArray())
    return std::unexpected(fmt::format("expected a list of mirrors, found {}", shown(*document)));
  FoundEntries entries;
  for (const auto& value : document->GetArray()) {
    auto entry = read_entry(value);
    if (!entry)
      return std::unexpected(fmt::format("mirror {}: {}", entries.size() + 1, entry.error()));
    entries.push_back(*std::move(entry));
  }
  if (auto sound = check_entries(entries); !sound) return std::unexpected(sound.error());
  return entries;
}

}  // namespace karmad
