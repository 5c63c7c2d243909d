#include "balancer/discovery/source_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "agent/json/json_tree.hpp"
#include "agent/stats/document.hpp"
#include "config/agent_line.hpp"
#include "config/own_address.hpp"
#include "config/settings/address.hpp"
#include "config/settings/words.hpp"
#include "config/text/closest.hpp"
#include "config/text/source_text.hpp"
#include "strategies/set_picture.hpp"
#include "strategies/tags.hpp"

namespace karmad {
namespace {

constexpr std::array<std::string_view, 8> kEntryMembers{"address", "table", "shard",  "remote",
                                                        "role",    "tags",  "weight", "state"};

std::unexpected<std::string> wrong(std::string_view name, std::string why) {
  return std::unexpected(fmt::format("{}: {}", name, why));
}

std::unexpected<std::string> mismatch(std::string_view wanted, const JsonValue& found) {
  return std::unexpected(fmt::format("expected {}, found {}", wanted, shown(found)));
}

std::expected<unsigned, std::string> read_number(const JsonValue& value, unsigned least,
                                                 unsigned most) {
  if (value.IsUint() && value.GetUint() >= least && value.GetUint() <= most) return value.GetUint();
  return mismatch(fmt::format("a whole number from {} to {}", least, most), value);
}

std::expected<std::string, std::string> read_table_name(const JsonValue& value) {
  if (value.IsString() && is_table_name(text_of(value))) return std::string(text_of(value));
  return mismatch("the name of a table", value);
}

std::expected<Address, std::string> read_address(const JsonValue& value) {
  if (!value.IsString()) return mismatch("a text like 10.0.0.1:9308", value);
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
  if (colon == text.npos) return mismatch("host:port", value);
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
      if (!tag.IsString()) return mismatch(fmt::format("a text for {}", shown(name)), tag);
      text += fmt::format("{}{}:{}", text.empty() ? "" : ";", text_of(name), text_of(tag));
    }
  } else {
    return mismatch("an object or name:value;name:value", value);
  }
  if (const auto tags = parse_tags(text, ';'); !tags) return std::unexpected(tags.error());
  return text;
}

std::expected<std::string, std::string> read_role(const JsonValue& value) {
  if (value.IsString())
    if (const auto role = role_named(text_of(value)); role && *role != Role::unknown)
      return std::string(text_of(value));
  return mismatch(fmt::format("one of {}", fmt::join(std::span(kRoleNames.all()).subspan(1), ", ")),
                  value);
}

std::expected<ServiceState, std::string> read_state(const JsonValue& value) {
  if (value.IsString())
    if (const auto state = kWords<ServiceState>.find(text_of(value))) return *state;
  return mismatch(fmt::format("one of {}", fmt::join(words<ServiceState>(), ", ")), value);
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

std::expected<rapidjson::Document, std::string> parse_source(std::string_view text) {
  if (text.size() > kLongestSource)
    return std::unexpected(fmt::format("it is longer than {} bytes", kLongestSource));
  auto document = tree_of(text);
  if (!document.HasParseError()) return document;
  const auto before = text.substr(0, document.GetErrorOffset());
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto begin = before.rfind('\n');
  const auto column = begin == before.npos ? before.size() + 1 : before.size() - begin;
  return std::unexpected(fmt::format("line {}, column {}: not valid JSON: {}", line, column,
                                     rapidjson::GetParseError_En(document.GetParseError())));
}

std::string shown(const JsonValue& value) {
  constexpr std::size_t kMost = 60;
  if (value.IsString()) return fmt::format("'{}'", text_of(value).substr(0, kMost));
  if (value.IsInt64()) return fmt::format("{}", value.GetInt64());
  if (value.IsNumber()) return fmt::format("{}", value.GetDouble());
  if (value.IsBool()) return value.GetBool() ? "true" : "false";
  return value.IsNull() ? "null" : value.IsArray() ? "a list" : "an object";
}

std::expected<FoundEntry, std::string> read_entry(const JsonValue& value) {
  if (!value.IsObject()) return mismatch("an object", value);
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
  // The tables of each mirror; an entry without a table is for all.
  std::map<std::tuple<unsigned, Address, std::string>, std::set<std::string>> seen;
  for (const auto& [table, shard, mirror] : entries) {
    const auto& host = mirror.address.host;
    if (const auto kind = kind_without_server(host); !kind.empty())
      return std::unexpected(fmt::format("no agent has the {} address {}", kind, host));
    auto& tables = seen[{shard, mirror.address, mirror.remote.value_or("")}];
    const bool of_some_table = !table && !tables.empty();
    if (of_some_table || tables.contains("") || !tables.insert(lower(table.value_or(""))).second)
      return std::unexpected(
          fmt::format("{} is given twice in shard {}", text(mirror.address), shard));
  }
  return {};
}

std::expected<FoundEntries, std::string> read_entries(std::string_view json) {
  const auto document = parse_source(json);
  if (!document) return std::unexpected(document.error());
  if (!document->IsArray()) return mismatch("a list of mirrors", *document);
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

namespace {

void put_found_mirror(Document& out, unsigned shard, const FoundMirror& mirror) {
  out.object([&] {
    out.text("address", text(mirror.address));
    out.value("shard", shard);
    if (mirror.remote) out.text("remote", *mirror.remote);
    if (mirror.role) out.text("role", *mirror.role);
    if (mirror.tags) out.text("tags", *mirror.tags);
    out.value("weight", mirror.weight);
    out.text("state", word(mirror.state));
  });
}

void put_found_name(Document& out, const NameQuestion& question, const FoundName& name) {
  out.text("host", question.host);
  out.value("srv", question.srv);
  out.array("addresses", name.addresses,
            [&](const HostAddress& address) { out.text(address.to_string()); });
  out.objects("mirrors", name.mirrors, [&](const NamedMirror& mirror) {
    out.text("address", mirror.address.host);
    out.value("port", mirror.address.port);
    if (mirror.weight) out.value("weight", *mirror.weight);
  });
}

/// Stores the number of that member, if it is there; or returns the error.
template <class Into>
std::optional<std::string> take_whole(const JsonValue& value, std::string_view name, unsigned most,
                                      Into& into) {
  const auto* const found = member_of(&value, name);
  if (found == nullptr) return std::nullopt;
  const auto number = read_number(*found, 0, most);
  if (!number) return fmt::format("{}: {}", name, number.error());
  into = static_cast<Into>(*number);
  return std::nullopt;
}

std::expected<boost::asio::ip::address, std::string> read_ip(const JsonValue* value) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(text_of(value), error);
  if (error) return std::unexpected(fmt::format("'{}' is no address", text_of(value)));
  return address;
}

std::expected<FoundName, std::string> found_name_in(const JsonValue& value) {
  FoundName name;
  for (const auto& one : list_member(value, "addresses"))
    if (auto why = take(read_ip(&one), name.addresses.emplace_back()))
      return std::unexpected(*std::move(why));
  for (const auto& one : list_member(value, "mirrors")) {
    auto& mirror = name.mirrors.emplace_back();
    mirror.address.host = text_member(one, "address");
    auto address = read_ip(member_of(&one, "address"));
    auto why = address ? take_whole(one, "port", 65535, mirror.address.port)
                       : std::optional(std::move(address.error()));
    if (!why) why = take_whole(one, "weight", kMostWeight, mirror.weight);
    if (why) return std::unexpected(*std::move(why));
  }
  return name;
}

}  // namespace

std::string last_found_json(const LastFound& found) {
  return json_object([&](Document& out) {
    out.objects("tables", found.pictures, [&](const auto& entry) {
      out.text("name", entry.first);
      out.array("mirrors", entry.second, [&](const auto& shard) {
        for (const auto& mirror : shard.second) put_found_mirror(out, shard.first, mirror);
      });
    });
    out.objects("names", found.names,
                [&](const auto& entry) { put_found_name(out, entry.first, entry.second); });
  });
}

std::expected<LastFound, std::string> last_found_in(std::string_view json) {
  LastFound last;
  const auto document = tree_of(json);
  if (document.HasParseError()) return std::unexpected("it is no JSON in UTF-8");
  const auto* found = member_of(&document, "found");
  if (found == nullptr) return last;
  if (!found->IsObject()) return wrong("found", "it is no object");
  for (const auto& table : list_member(*found, "tables")) {
    const std::string name(text_member(table, "name"));
    Picture picture;
    for (const auto& mirror : list_member(table, "mirrors")) {
      auto entry = read_entry(mirror);
      if (!entry) return wrong("found", fmt::format("table {}: {}", name, entry.error()));
      picture[entry->shard].push_back(std::move(entry->mirror));
    }
    if (!picture.empty()) last.pictures[name] = picture;
  }
  for (const auto& value : list_member(*found, "names")) {
    const auto* srv = member_of(&value, "srv");
    const std::string host(text_member(value, "host"));
    auto name = found_name_in(value);
    if (!name) return wrong("found", fmt::format("name {}: {}", host, name.error()));
    if (name->addresses.empty() && name->mirrors.empty()) continue;
    last.names[{host, srv != nullptr && srv->IsTrue()}] = *std::move(name);
  }
  return last;
}

}  // namespace karmad
