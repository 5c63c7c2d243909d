#include "balancer/discovery/found.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/resolve.hpp"
#include "config/check.hpp"
#include "config/settings/address.hpp"
#include "config/settings/inherit.hpp"

namespace karmad {
namespace {

constexpr std::string_view kPlaceholder = ".no-mirror-found";

MirrorSettings mirror_settings(const TableSettings& table, const ShardSettings& line,
                               const FoundMirror& found) {
  const auto& at = table.discovery->at;
  auto mirror = empty_mirror(table);
  mirror.at = at;
  mirror.address = found.address;
  if (found.remote)
    mirror.tables = {*found.remote};
  else if (!line.mirrors.empty())
    mirror.tables = line.mirrors.front().tables;
  else
    mirror.tables = {table.name};
  if (found.role) mirror.role = {*found.role, at};
  if (found.tags) mirror.tags = {*found.tags, at};
  mirror.weight = {found.weight, at};
  mirror.state = {found.state, at};
  return mirror;
}

bool has_mirror(const std::vector<MirrorSettings>& all, const MirrorSettings& mirror) {
  return std::ranges::any_of(all, [&](const auto& other) {
    return other.address == mirror.address && other.tables == mirror.tables;
  });
}

void replace_mirrors(TableSettings& table, const Picture& picture) {
  const std::size_t shards = picture.empty() ? 1 : picture.rbegin()->first;
  for (std::size_t i = 0; i < std::max(table.shards.size(), shards); ++i) {
    if (i == table.shards.size())
      table.shards.emplace_back(empty_line(table)).at = table.discovery->at;
    auto& line = table.shards[i];
    std::vector<MirrorSettings> mirrors;
    if (const auto found = picture.find(static_cast<unsigned>(i) + 1); found != picture.end())
      for (const auto& each : found->second)
        if (auto next = mirror_settings(table, line, each); !has_mirror(mirrors, next))
          mirrors.push_back(std::move(next));
    if (!mirrors.empty()) line.mirrors = std::move(mirrors);
    if (!line.mirrors.empty()) continue;
    const Address placeholder{
        .host = table.name + std::string(kPlaceholder), .port = 0, .unix_path = {}};
    line.mirrors.push_back(
        mirror_settings(table, line, {.address = placeholder, .state = ServiceState::maint}));
  }
}

/// The mirrors that a mirror of the line stands for.
std::vector<MirrorSettings> expanded(const MirrorSettings& mirror, const NameAnswers& names) {
  const auto kind = resolve_of(mirror);
  if (kind == Resolve::one || is_placeholder(mirror.address)) return {mirror};
  const auto answer = names.find({mirror.address.host, kind == Resolve::srv});
  if (answer == names.end()) return {mirror};
  std::vector<MirrorSettings> mirrors;
  for (const auto& found : answer->second) {
    auto& next = mirrors.emplace_back(mirror);
    next.address = found.address;
    if (next.address.port == 0) next.address.port = mirror.address.port;
    if (found.weight) next.weight = {*found.weight, mirror.at};
  }
  return mirrors;
}

/// IPv4 first, by number; names last.
std::tuple<int, HostAddress, Address> sort_key(const Address& address) {
  boost::system::error_code error;
  auto ip = boost::asio::ip::make_address(address.host, error);
  return {error ? 1 : 0, error ? HostAddress() : std::move(ip), address};
}

void expand(ShardSettings& line, const NameAnswers& names, const std::string& table,
            std::vector<std::string>& cuts) {
  std::vector<MirrorSettings> all;
  for (const auto& mirror : line.mirrors)
    for (auto& next : expanded(mirror, names))
      // What the file says twice is the file's affair; only twins that were found are dropped.
      if (next.address == mirror.address || !has_mirror(all, next)) all.push_back(std::move(next));
  if (all.size() > kMostMirrors) {
    std::ranges::stable_sort(all, [](const MirrorSettings& a, const MirrorSettings& b) {
      const auto is_stand_by = [](const auto& mirror) { return mirror.weight.value == 0; };
      return std::tuple(is_stand_by(a), sort_key(a.address)) <
             std::tuple(is_stand_by(b), sort_key(b.address));
    });
    cuts.push_back(fmt::format("table {}: {} mirrors of a shard were found; the first {} are used",
                               table, all.size(), kMostMirrors));
    all.resize(kMostMirrors);
  }
  line.mirrors = std::move(all);
}

std::set<std::string> addresses_of(const TableSettings& table) {
  std::set<std::string> addresses;
  for (const auto& line : table.shards)
    for (const auto& mirror : line.mirrors)
      if (!is_placeholder(mirror.address)) addresses.insert(text(mirror.address));
  return addresses;
}

std::vector<std::string> without(const std::set<std::string>& all,
                                 const std::set<std::string>& others) {
  std::vector<std::string> rest;
  std::ranges::set_difference(all, others, std::back_inserter(rest));
  return rest;
}

/// `2 new (a, b)`; at most some of them by name.
std::string few_of(std::string_view what, const std::vector<std::string>& addresses) {
  constexpr std::size_t kNamed = 4;
  const auto named = std::span(addresses).first(std::min(addresses.size(), kNamed));
  return fmt::format("{} {} ({}{})", addresses.size(), what, fmt::join(named, ", "),
                     named.size() < addresses.size() ? ", …" : "");
}

}  // namespace

bool is_placeholder(const Address& address) {
  return address.port == 0 && !address.is_unix();
}

std::string table_of_placeholder(const Address& address) {
  return address.host.substr(
      0, address.host.size() - std::min(address.host.size(), kPlaceholder.size()));
}

Picture picture_of(const FoundEntries& entries, const std::string& table) {
  Picture picture;
  for (const auto& entry : entries)
    if (!entry.table || wire::same_word(*entry.table, table))
      picture[entry.shard].push_back(entry.mirror);
  return picture;
}

Picture next_picture(const TableSettings& table, const Picture& last, Picture next,
                     std::vector<unsigned>& kept) {
  const auto in_shard = [&](unsigned shard, const FoundMirror& mirror) {
    return mirror_settings(
        table, shard <= table.shards.size() ? table.shards[shard - 1] : empty_line(table), mirror);
  };
  std::vector<MirrorSettings> listed;
  for (const auto& [shard, mirrors] : next)
    for (const auto& mirror : mirrors) listed.push_back(in_shard(shard, mirror));
  for (auto [shard, mirrors] : last) {
    if (next.contains(shard)) continue;
    std::erase_if(mirrors, [&, number = shard](const FoundMirror& mirror) {
      return has_mirror(listed, in_shard(number, mirror));
    });
    if (mirrors.empty()) continue;
    kept.push_back(shard);
    next.emplace(shard, std::move(mirrors));
  }
  return next;
}

Settings with_pictures(Settings settings, const Pictures& pictures) {
  for (auto& table : settings.tables) {
    if (!table.discovery) continue;
    const auto found = pictures.find(table.name);
    replace_mirrors(table, found == pictures.end() ? Picture() : found->second);
  }
  return settings;
}

std::set<NameQuestion> questions_of(const Settings& settings, bool expands) {
  std::set<NameQuestion> questions;
  for (const auto& table : settings.tables)
    for (const auto* lines : {&table.shards, &table.blackholes})
      for (const auto& line : *lines)
        for (const auto& mirror : line.mirrors) {
          const auto& address = mirror.address;
          if (address.is_unix() || is_placeholder(address) || is_ip_address(address.host)) continue;
          const auto kind = resolve_of(mirror);
          if (kind != Resolve::one || !expands)
            questions.insert({address.host, kind == Resolve::srv});
        }
  return questions;
}

Settings with_names(Settings settings, const NameAnswers& names, std::vector<std::string>& cuts) {
  for (auto& table : settings.tables)
    for (auto* lines : {&table.shards, &table.blackholes})
      for (auto& line : *lines) expand(line, names, table.name, cuts);
  return settings;
}

Settings with_found(Settings settings, const FoundMirrors& found, std::vector<std::string>& cuts) {
  return with_names(with_pictures(std::move(settings), found.pictures), found.names, cuts);
}

std::string mirror_changes(const Settings& before, const Settings& after) {
  std::string changes;
  for (const auto& table : after.tables) {
    const auto former = std::ranges::find(before.tables, table.name, &TableSettings::name);
    if (former == before.tables.end()) continue;
    const auto then = addresses_of(*former);
    const auto now = addresses_of(table);
    std::vector<std::string> parts;
    if (const auto came = without(now, then); !came.empty()) parts.push_back(few_of("new", came));
    if (const auto left = without(then, now); !left.empty()) parts.push_back(few_of("gone", left));
    if (!parts.empty())
      changes += fmt::format("{}table {}: {}", changes.empty() ? "" : "; ", table.name,
                             fmt::join(parts, ", "));
  }
  return changes;
}

}  // namespace karmad
