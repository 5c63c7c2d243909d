#include "balancer/discovery/discovery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "balancer/discovery/with_found.hpp"
#include "config/settings/discovery_source.hpp"

namespace karmad {
namespace {

constexpr std::string_view kHeld = "the last mirrors stay in use";
constexpr std::string_view kAsWritten = "the mirrors of the configuration are used";

}  // namespace

Discovery::Discovery(Loop& loop, DnsSettings dns, SourceStatus& board, Hooks hooks)
    : loop_(loop), dns_(std::move(dns)), board_(board), hooks_(std::move(hooks)) {}

Discovery::~Discovery() = default;

void Discovery::stop() {
  stopped_ = true;
  watches_.clear();
}

Pictures Discovery::pictures_for(const Settings& file) const {
  Pictures pictures;
  for (const auto& table : file.tables) {
    if (!table.discovery) continue;
    const auto watch = watches_.find(source_of(table));
    if (watch == watches_.end() || !watch->second.entries) {
      // A source that is new: until it has answered, the table keeps what it has.
      if (const auto last = pictures_.find(table.name); last != pictures_.end())
        pictures.insert(*last);
      continue;
    }
    if (auto picture = picture_of(*watch->second.entries, table.name); !picture.empty())
      pictures[table.name] = std::move(picture);
  }
  return pictures;
}

void Discovery::remember(const Settings& file, const Pictures& last) {
  for (const auto& table : file.tables) {
    const auto found = last.find(table.name);
    if (!table.discovery || found == last.end()) continue;
    auto pictures = pictures_;
    pictures.insert(*found);
    if (const auto why = hooks_.judge(pictures))
      spdlog::warn("the former mirrors of table {} cannot be used: {}", table.name, *why);
    else
      pictures_ = std::move(pictures);
  }
}

void Discovery::adopt(const Settings& file) {
  if (stopped_) return;
  pictures_ = pictures_for(file);
  tables_.clear();
  for (const auto& table : file.tables)
    if (table.discovery) tables_.emplace(table.name, source_of(table));
  std::erase_if(watches_, [&](const auto& watch) {
    for (const auto& [table, source] : tables_)
      if (source == watch.first) return false;
    board_.remove(text(watch.first));
    return true;
  });
  for (const auto& [table, source] : tables_)
    if (!watches_.contains(source)) follow(source);
}

void Discovery::follow(const DiscoverySource& source) {
  auto& watch = watches_[source];
  SourceRun run{.loop = loop_,
                .dns = dns_,
                .report = [this, source](auto entries) { reported(source, std::move(entries)); },
                .connected = source.kind == DiscoverySource::Kind::file ? nullptr : connected_};
  switch (source.kind) {
    case DiscoverySource::Kind::file:
      watch.source = follow_file(source, std::move(run));
      break;
    case DiscoverySource::Kind::etcd:
      watch.source = follow_etcd(source, std::move(run));
      break;
    case DiscoverySource::Kind::kubernetes:
      watch.source = follow_kubernetes(source, std::move(run));
      break;
  }
}

void Discovery::reported(const DiscoverySource& source,
                         std::expected<FoundEntries, std::string> entries) {
  auto& watch = watches_[source];
  watch.reported = true;
  const bool is_first = !watch.entries;
  const auto count = entries ? entries->size() : 0;
  const auto wrong = entries ? take(source, *std::move(entries)) : entries.error();
  if (wrong.empty()) return board_.good(text(source), count, WallTime::clock::now());
  const bool holds = !is_first || std::ranges::any_of(tables_, [&](const auto& table) {
    return table.second == source && pictures_.contains(table.first);
  });
  board_.failed(text(source), wrong, holds ? kHeld : kAsWritten, WallTime::clock::now());
  hooks_.failed();
}

std::string Discovery::take(const DiscoverySource& source, FoundEntries entries) {
  auto& watch = watches_[source];
  auto pictures = pictures_;
  std::string wrong;
  for (const auto& [table, of] : tables_) {
    if (of != source) continue;
    auto next = picture_of(entries, table);
    if (next.empty() && wrong.empty()) wrong = fmt::format("it has no mirror of table {}", table);
    const auto last = pictures.find(table);
    std::vector<unsigned> kept;
    if (last != pictures.end()) next = next_picture(last->second, std::move(next), kept);
    if (!kept.empty() && wrong.empty())
      wrong = fmt::format(
          "it has no mirror of shard {} of table {} any more; a reload would drop "
          "the shard",
          fmt::join(kept, ", "), table);
    if (!next.empty()) pictures[table] = std::move(next);
  }
  if (watch.entries != entries || pictures != pictures_) {
    if (const auto why = hooks_.judge(pictures)) return *why;
    watch.entries = std::move(entries);
    if (pictures != pictures_) {
      pictures_ = std::move(pictures);
      hooks_.changed();
    }
  }
  return wrong;
}

bool Discovery::waiting() const {
  for (const auto& [source, watch] : watches_)
    if (!watch.reported) return true;
  return false;
}

std::string Discovery::why(const std::string& table) const {
  const auto of = tables_.find(table);
  if (of == tables_.end()) return "no mirror was found";
  const auto name = text(of->second);
  const auto numbers = board_.of(name);
  return fmt::format("no mirror was found: {}: {}", name,
                     numbers && !numbers->why.empty() ? numbers->why : "no answer yet");
}

}  // namespace karmad
