#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/agent_line.hpp"
#include "config/listen_line.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"
#include "config/text/sections.hpp"

namespace karmad {

/// Sets the fields of one section; its owner already has the inherited values. The order of `keys`
/// decides: later rows override earlier ones, and settings that agent lines inherit come first.
template <class Owner>
class SectionSetter {
 public:
  SectionSetter(Owner& owner, std::string_view table, Problems& problems, Problems& notices)
      : owner_(owner), above_(owner), table_(table), problems_(problems), notices_(notices) {}

  void set_all(const Section& section, std::span<const Key<Owner>> keys) {
    for (const auto& key : keys)
      if (!key.beside.empty() && key.inherited && sets(section, key.beside))
        std::visit([&](const auto field) { reset(field); }, key.field);
    for (const bool inherited : {true, false})
      for (const auto& key : keys)
        if (key.inherited == inherited) set_one(section, key);
  }

 private:
  static bool sets(const Section& section, std::string_view key) {
    return std::ranges::any_of(section.entries,
                               [&](const Entry& entry) { return entry.key == key; });
  }

  void reset(std::monostate) {}
  template <class Value>
  void reset(Value Owner::*field) {
    owner_.*field = above_.*field = Owner().*field;
  }

  void set_one(const Section& section, const Key<Owner>& key) {
    for (const auto& entry : section.entries)
      if (entry.key == key.name && !is_foreign(key, entry) && is_known(entry))
        std::visit([&](const auto field) { set(field, key, entry); }, key.field);
  }

  bool is_foreign(const Key<Owner>& key, const Entry& entry) {
    const auto word = lower(entry.value.text());
    if (std::find(key.foreign.begin(), key.foreign.end(), word) == key.foreign.end()) return false;
    notices_.push_back({entry.value.place(0),
                        fmt::format("{} = {} is ignored: karmad does not use it", key.name, word)});
    return true;
  }

  /// False if the value is unknown because of an environment variable. A shard keeps its place, so
  /// that the table is not also reported as empty.
  bool is_known(const Entry& entry) {
    if (!entry.value.has_unknown()) return true;
    if constexpr (std::is_same_v<Owner, TableSettings>)
      if (entry.key == "agent" || entry.key == "agent_persistent")
        owner_.shards.emplace_back(empty_line(owner_)).at = entry.value.place(0);
    return false;
  }

  void set(std::monostate /*handled elsewhere*/, const Key<Owner>&, const Entry&) {}

  void set(std::vector<Listen> Owner::*field, const Key<Owner>&, const Entry& entry) {
    if (auto listen = parse_listen(entry.value, problems_, notices_))
      (owner_.*field).push_back(std::move(*listen));
  }

  void set(std::vector<ShardSettings> Owner::*, const Key<Owner>& key, const Entry& entry) {
    if constexpr (std::is_same_v<Owner, TableSettings>) {
      auto defaults = empty_line(owner_);
      defaults.persistent = key.name == "agent_persistent";
      defaults.blackhole = key.name == "agent_blackhole";
      auto shard = parse_agent_line(entry.value, table_, problems_, notices_, defaults,
                                    empty_mirror(owner_));
      (shard.blackhole ? owner_.blackholes : owner_.shards).push_back(std::move(shard));
    }
  }

  void set(std::vector<std::string> Owner::*field, const Key<Owner>&, const Entry& entry) {
    std::string_view rest = entry.value.text();
    if constexpr (std::is_same_v<Owner, TableSettings>) {
      if (owner_.reads.empty()) owner_.reads_at = entry.value.place(0);
    }
    while (!rest.empty()) {
      const auto comma = std::min(rest.find(','), rest.size());
      if (const auto item = trimmed(rest.substr(0, comma)); !item.empty())
        (owner_.*field).emplace_back(item);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }

  template <class T>
  void set(Located<T> Owner::*field, const Key<Owner>& key, const Entry& entry) {
    auto& setting = owner_.*field;
    if (auto read = located<T>(key, entry, own_place(field))) setting = std::move(*read);
  }

  template <class T>
  void set(std::optional<Located<T>> Owner::*field, const Key<Owner>& key, const Entry& entry) {
    auto& setting = owner_.*field;
    if (auto read = located<T>(key, entry, own_place(field))) setting = std::move(*read);
  }

  /// The place where this section has already set the field under another name.
  template <class Setting>
  Place own_place(Setting Owner::*field) const {
    const auto& setting = owner_.*field;
    return is_own(setting, above_.*field) ? place_of(setting) : Place{};
  }

  template <class T>
  std::optional<Located<T>> located(const Key<Owner>& key, const Entry& entry, const Place& old) {
    auto value = parse_value<T>(entry.value.text(), key.bounds);
    if (!value) {
      report<T>(key, entry, value.error());
      return std::nullopt;
    }
    if (old.line != 0)
      notices_.push_back(
          {entry.at, fmt::format("{} overrides its other name, set in {}", key.name, text(old))});
    return Located<T>{std::move(*value), entry.value.place(0)};
  }

  /// Reports the mistake, and those of the further elements of a list.
  template <class T>
  void report(const Key<Owner>& key, const Entry& entry, Unfit mistake) {
    constexpr bool is_list =
        std::is_same_v<T, std::vector<Micros>> || std::is_same_v<T, AddressRanges>;
    std::string_view text = entry.value.text();
    for (std::size_t begin = 0;;) {
      const auto at = begin + mistake.offset;
      problems_.push_back({entry.value.place(at), fmt::format("{}: {}", key.name, mistake.why)});
      const auto comma = is_list ? text.find(',', at) : text.npos;
      if (comma == text.npos) return;
      begin = comma + 1;
      const auto further = parse_value<T>(text.substr(begin), key.bounds);
      if (further) return;
      mistake = further.error();
    }
  }

  Owner& owner_;
  Owner above_;
  std::string_view table_;
  Problems& problems_;
  Problems& notices_;
};

}  // namespace karmad
