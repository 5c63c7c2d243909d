#include "config/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "config/agent_line.hpp"
#include "config/listen_line.hpp"
#include "config/settings/address.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"
#include "config/text/peer_keys.hpp"

namespace karmad {

namespace {

constexpr std::array<std::string_view, 5> kTableTypes{"distributed", "plain", "rt", "percolate",
                                                      "template"};

template <class Owner>
const Key<Owner>* find_key(std::span<const Key<Owner>> keys, std::string_view name) {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const Key<Owner>& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

/// Ignored keys, collected for one notice.
struct Ignored {
  Place first;
  std::vector<std::string> names;

  void add(const Place& at, std::string name) {
    if (names.empty()) first = at;
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  void report(std::string_view what, Problems& notices) const {
    constexpr std::size_t kMost = 40;
    if (names.empty()) return;
    const auto more = names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "";
    const auto shown = std::span(names).first(std::min(names.size(), kMost));
    notices.push_back({first, fmt::format("{}: {}{}", what, fmt::join(shown, ", "), more)});
  }
};

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
      if (entry.key == key.name && !is_foreign(key, entry))
        std::visit([&](const auto field) { set(field, key, entry); }, key.field);
  }

  bool is_foreign(const Key<Owner>& key, const Entry& entry) {
    const auto word = lower(entry.value.text());
    if (std::find(key.foreign.begin(), key.foreign.end(), word) == key.foreign.end()) return false;
    notices_.push_back({entry.value.place(0),
                        fmt::format("{} = {} is ignored: karmad does not use it", key.name, word)});
    return true;
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
      // An invalid line keeps its place, so that the table is not also reported as empty.
      if (!shard) {
        owner_.shards.emplace_back(std::move(defaults)).at = entry.value.place(0);
        return;
      }
      (shard->blackhole ? owner_.blackholes : owner_.shards).push_back(std::move(*shard));
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
      problems_.push_back({entry.value.place(value.error().offset),
                           fmt::format("{}: {}", key.name, value.error().why)});
      return std::nullopt;
    }
    if (old.line != 0)
      notices_.push_back(
          {entry.at, fmt::format("{} overrides its other name, set in {}", key.name, text(old))});
    return Located<T>{std::move(*value), entry.value.place(0)};
  }

  Owner& owner_;
  Owner above_;
  std::string_view table_;
  Problems& problems_;
  Problems& notices_;
};

class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  Settings run(const Tree& tree) {
    settings_.notices = tree.notices;
    for (const bool searchd : {true, false})  // first the settings that tables inherit
      for (const auto& section : tree.sections)
        if ((section.kind == SectionKind::searchd) == searchd) read_section(section);
    if (std::ranges::all_of(settings_.searchd.listen, &Listen::admin)) add_default_listen();
    if (tree.sections.empty() && problems_.empty())
      problem({},
              "the configuration is empty: it needs a table with 'type = distributed' and an "
              "agent");
    else if (settings_.tables.empty() && !tree.sections.empty())
      settings_.notices.push_back({{},
                                   "there is no distributed table: nothing can be searched",
                                   Problem::Severity::warning});
    report_ignored();
    return std::move(settings_);
  }

 private:
  void problem(Place at, std::string message) {
    problems_.push_back({std::move(at), std::move(message)});
  }

  void add_default_listen() {
    auto& address = settings_.searchd.listen.emplace_back().address;
    address.host = "127.0.0.1";
    address.port = kDefaultPort;
  }

  void read_section(const Section& section) {
    if (section.kind == SectionKind::searchd) {
      SectionSetter<InstanceSettings>(settings_.searchd, {}, problems_, settings_.notices)
          .set_all(section, searchd_keys());
      look_for_strangers(section, searchd_keys(), ignored_searchd_);
    } else if (section.kind == SectionKind::table) {
      read_table(section);
    } else {
      ignored_sections_[section.kind].add(
          section.at, section.name.empty()
                          ? std::string(name_of(section.kind))
                          : fmt::format("{} {}", name_of(section.kind), section.name));
    }
  }

  void read_table(const Section& section) {
    if (!is_distributed(section)) return;
    auto table = empty_table(settings_.searchd);
    table.name = section.name;
    table.at = section.at;
    SectionSetter<TableSettings>(table, section.name, problems_, settings_.notices)
        .set_all(section, table_keys());
    look_for_strangers(section, table_keys(), ignored_table_);
    settings_.tables.push_back(std::move(table));
  }

  /// True for a distributed table; others are reported or ignored here.
  bool is_distributed(const Section& section) {
    const auto& entries = section.entries;
    const auto find = [&](std::string_view key) {
      return std::find_if(entries.begin(), entries.end(),
                          [&](const Entry& entry) { return entry.key == key; });
    };
    if (const auto type = find("type"); type != entries.end()) {
      const auto word = lower(type->value.text());
      if (word == "distributed") return true;
      if (std::find(kTableTypes.begin(), kTableTypes.end(), word) == kTableTypes.end())
        problem(type->value.place(0),
                fmt::format("unknown type {}{}", in_quotes(word), suggestion(word, kTableTypes)));
      else
        ignored_tables_.add(section.at, section.name);
      return false;
    }
    for (const std::string_view key : {"agent", "agent_persistent", "agent_blackhole"})
      if (const auto agent = find(key); agent != entries.end()) {
        problem(section.at, fmt::format("table {} has agents, but no 'type = distributed'",
                                        in_quotes(section.name)));
        return false;
      }
    ignored_tables_.add(section.at, section.name);
    return false;
  }

  template <class Owner>
  void look_for_strangers(const Section& section, std::span<const Key<Owner>> keys,
                          Ignored& ignored) {
    for (const auto& entry : section.entries) {
      if (find_key(keys, entry.key) != nullptr) continue;
      if (section.kind == SectionKind::table && entry.key == "local")
        problem(entry.at,
                "karmad has no local tables: without this one its data would be missing from the "
                "answers; serve it from an agent");
      else if (const auto missed = missed_without(section.kind, entry.key); !missed.empty())
        settings_.notices.push_back({entry.at, fmt::format("{} is ignored: {}", entry.key, missed),
                                     Problem::Severity::warning});
      else if (is_ignored_peer_key(section.kind, entry.key))
        ignored.add(entry.at, entry.key);
      else
        problem(entry.at, unknown_key(section.kind, entry.key, keys));
    }
  }

  template <class Owner>
  static std::string unknown_key(SectionKind kind, std::string_view key,
                                 std::span<const Key<Owner>> keys) {
    const bool in_table = kind == SectionKind::table;
    const bool elsewhere = in_table ? find_key(searchd_keys(), key) != nullptr
                                    : find_key(table_keys(), key) != nullptr;
    if (elsewhere)
      return fmt::format("{} belongs in {}, not here", in_quotes(key),
                         in_table ? "searchd" : "a distributed table");
    std::vector<std::string_view> names;
    for (const auto& known : keys) names.push_back(known.name);
    return fmt::format("unknown key {}{}", in_quotes(key), suggestion(key, names));
  }

  void report_ignored() {
    auto& notices = settings_.notices;
    ignored_searchd_.report("keys of searchd that karmad does not use are ignored", notices);
    ignored_table_.report("keys of distributed tables that karmad does not use are ignored",
                          notices);
    ignored_tables_.report("tables that are not distributed are ignored", notices);
    for (const auto& [kind, ignored] : ignored_sections_)
      ignored.report("sections that karmad does not use are ignored", notices);
  }

  Problems& problems_;
  Settings settings_;
  Ignored ignored_searchd_;
  Ignored ignored_table_;
  Ignored ignored_tables_;
  std::map<SectionKind, Ignored> ignored_sections_;
};

}  // namespace

bool repeats(SectionKind kind, std::string_view key) {
  if (kind == SectionKind::searchd) {
    const auto* known = find_key(searchd_keys(), key);
    return known == nullptr || is_list(*known);
  }
  if (kind == SectionKind::table) {
    const auto* known = find_key(table_keys(), key);
    return known == nullptr || is_list(*known);
  }
  return true;
}

Settings read(const Tree& tree, Problems& problems) {
  return Reader(problems).run(tree);
}

}  // namespace karmad
