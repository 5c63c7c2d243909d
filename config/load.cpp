#include "config/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "config/agent_line.hpp"
#include "config/check.hpp"
#include "config/settings/address.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"
#include "config/text/closest.hpp"
#include "config/text/parse.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

bool has_entry(const Section& section, std::string_view key) {
  return std::ranges::find(section.entries, key, &Entry::key) != section.entries.end();
}

/// Sets the fields of one section; its owner already has the inherited values. The order of `keys`
/// decides: later rows override earlier ones, and settings that agent lines inherit come first.
template <class Owner>
class SectionSetter {
 public:
  SectionSetter(Owner& owner, std::string_view table, Problems& problems, Problems& notices)
      : owner_(owner), above_(owner), table_(table), problems_(problems), notices_(notices) {}

  void set_all(const Section& section, std::span<const Key<Owner>> keys) {
    for (const auto& key : keys)
      if (!key.beside.empty() && key.inherited && has_entry(section, key.beside))
        std::visit([&](const auto field) { reset(field); }, key.field);
    for (const bool inherited : {true, false})
      for (const auto& key : keys)
        if (key.inherited == inherited) set_one(section, key);
  }

 private:
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
    while (!rest.empty())
      if (const auto item = trimmed(take_until(rest, ',')); !item.empty())
        (owner_.*field).emplace_back(item);
  }

  template <Setting Value>
  void set(Value Owner::*field, const Key<Owner>& key, const Entry& entry) {
    auto& setting = owner_.*field;
    // Where this section has already set the field under another name.
    const auto old = is_own(setting, above_.*field) ? place_of(setting) : Place{};
    if (auto read = located<ValueOf<Value>>(key, entry, old)) setting = std::move(*read);
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
    return Located<T>{std::move(*value), entry.value.place(0), key.name};
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

constexpr std::array<std::string_view, 5> kTableTypes{"distributed", "plain", "rt", "percolate",
                                                      "template"};

template <class Owner>
const Key<Owner>* find_key(std::span<const Key<Owner>> keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &Key<Owner>::name);
  return found == keys.end() ? nullptr : &*found;
}

template <class Owner>
std::vector<std::string_view> names_of(std::span<const Key<Owner>> keys) {
  std::vector<std::string_view> names;
  for (const auto& known : keys) names.push_back(known.name);
  return names;
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
    notices.push_back({first, fmt::format("{}: {}", what, some_of(names, kMost))});
  }
};

class Reader {
 public:
  Reader(Problems& problems, std::vector<InstanceSettings>& repeated)
      : problems_(problems), repeated_(repeated) {}

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
    report_ignored();
    return std::move(settings_);
  }

 private:
  void problem(Place at, std::string message) {
    problems_.push_back({std::move(at), std::move(message)});
  }

  /// Lines for the search server's other protocols alone are a mistake: clients would not expect
  /// karmad at its default address.
  void add_default_listen() {
    if (ignored_listen_)
      problem(*ignored_listen_, fmt::format("no listen is for HTTP or MySQL, the protocols of "
                                            "karmad; add a line such as listen = 127.0.0.1:{}:http",
                                            kDefaultPort));
    auto& address = settings_.searchd.listen.emplace_back().address;
    address.host = "127.0.0.1";
    address.port = kDefaultPort;
  }

  void read_section(const Section& section) {
    if (section.kind == SectionKind::searchd) {
      read_searchd(section);
    } else if (section.kind == SectionKind::table) {
      read_table(section);
    } else {
      ignored_sections_[section.kind].add(
          section.at, section.name.empty()
                          ? std::string(name_of(section.kind))
                          : fmt::format("{} {}", name_of(section.kind), section.name));
    }
  }

  void read_searchd(const Section& written) {
    const auto section = mended(written, searchd_keys(), ignored_searchd_);
    auto& searchd = section.repeated ? repeated_.emplace_back() : settings_.searchd;
    const auto before = problems_.size();
    SectionSetter<InstanceSettings>(searchd, {}, problems_, settings_.notices)
        .set_all(section, searchd_keys());
    if (section.repeated) return;
    for (auto at = before; at < problems_.size(); ++at)
      if (is_in_listen(section, problems_[at].at)) return;
    for (const auto& entry : section.entries) {
      const auto at = entry.value.place(0);
      if (entry.key == "listen" && !entry.value.has_unknown() && !ignored_listen_ &&
          std::ranges::find(searchd.listen, at, &Listen::at) == searchd.listen.end())
        ignored_listen_ = at;
    }
  }

  static bool is_in_listen(const Section& section, const Place& at) {
    return std::ranges::any_of(section.entries, [&](const Entry& entry) {
      return entry.key == "listen" && entry.at.file == at.file && entry.at.line == at.line;
    });
  }

  void read_table(const Section& written) {
    if (!is_distributed(written)) return;
    const auto section = mended(written, table_keys(), ignored_table_);
    auto table = empty_table(settings_.searchd);
    table.name = section.name;
    table.at = section.at;
    SectionSetter<TableSettings>(table, section.name, problems_, settings_.notices)
        .set_all(section, table_keys());
    // Its agents may be those of the parent that was not found, or of a source that is not known.
    const auto has_source = std::ranges::count(section.entries, "discovery", &Entry::key) > 0;
    if ((section.orphan || (has_source && !table.discovery)) && table.shards.empty())
      table.shards.emplace_back(empty_line(table)).at = section.at;
    settings_.tables.push_back(std::move(table));
  }

  /// Whether a table is meant to be distributed; otherwise it is ignored. Reports a wrong type.
  bool is_distributed(const Section& section) {
    const auto& entries = section.entries;
    const bool has_agents = std::ranges::any_of(entries, [](const Entry& entry) {
      const auto key = meant_key(entry);
      return key == "agent" || key == "agent_persistent" || key == "agent_blackhole";
    });
    const auto type = std::ranges::find(entries, "type", &Entry::key);
    if (type == entries.end()) {
      const auto misspelt = std::ranges::find(entries, "type", meant_key);
      if (misspelt != entries.end())
        return has_agents || is_meant("distributed", lower(misspelt->value.text()));
      if (section.orphan)
        return has_agents || std::ranges::any_of(entries, [](const Entry& entry) {
                 return entry.key != "path" && find_key(table_keys(), entry.key) != nullptr;
               });
      if (has_agents) {
        problem(section.at, fmt::format("table {} has agents, but no 'type = distributed'",
                                        in_quotes(section.name)));
        return true;
      }
    } else if (type->value.has_unknown()) {
      return has_agents;
    } else {
      const auto word = lower(type->value.text());
      if (word == "distributed") return true;
      if (std::ranges::find(kTableTypes, word) == kTableTypes.end()) {
        const auto meant = suggestion(word, kTableTypes);
        problem(type->value.place(0),
                fmt::format("unknown type {}{}", in_quotes(word),
                            meant.empty() ? "; karmad needs 'type = distributed'" : meant));
        return has_agents || is_meant("distributed", word);
      }
    }
    ignored_tables_.add(section.at, section.name);
    return false;
  }

  static bool is_meant(std::string_view known, std::string_view word) {
    return word == known || closest(word, kTableTypes) == known;
  }

  /// The key of a table's entry, or the one that it is probably meant to be.
  static std::string_view meant_key(const Entry& entry) {
    const bool is_strange = find_key(table_keys(), entry.key) == nullptr &&
                            !is_ignored_peer_key(SectionKind::table, entry.key);
    return is_strange ? closest(entry.key, names_of(table_keys())).value_or(entry.key) : entry.key;
  }

  /// The section with each unknown key reported and replaced by the known one that is probably
  /// meant, so that mistakes in its value are found too. Keys without one are left out.
  template <class Owner>
  Section mended(const Section& section, std::span<const Key<Owner>> keys, Ignored& ignored) {
    auto out = section;
    out.entries.clear();
    for (const auto& entry : section.entries) {
      if (const auto* key = find_key(keys, entry.key); key != nullptr) {
        if (!is_replaced(*key, entry, section, keys)) out.entries.push_back(entry);
      } else if (section.kind == SectionKind::table && entry.key == "local") {
        problem(entry.at,
                "karmad has no local tables: without this one its data would be missing from the "
                "answers; serve it from an agent");
      } else if (const auto missed = missed_without(section.kind, entry.key); !missed.empty()) {
        settings_.notices.push_back({entry.at, fmt::format("{} is ignored: {}", entry.key, missed),
                                     Problem::Severity::warning});
      } else if (is_ignored_peer_key(section.kind, entry.key)) {
        ignored.add(entry.at, entry.key);
      } else if (!entry.faulty) {
        problem(entry.at, unknown_key(section.kind, entry.key, keys));
        if (section.kind == SectionKind::table)
          check_misplaced(entry, searchd_keys());
        else
          check_misplaced(entry, table_keys());
        const auto meant = closest(entry.key, names_of(keys));
        if (!meant || is_misplaced(section.kind, entry.key)) continue;
        if (!is_list(*find_key(keys, *meant)) && has_entry(section, *meant)) continue;
        out.entries.push_back(entry);
        out.entries.back().key = *meant;
      }
    }
    return out;
  }

  /// Whether an inherited key does not count: a nearer section has its other name, or the key
  /// that sets both anew.
  template <class Owner>
  static bool is_replaced(const Key<Owner>& key, const Entry& entry, const Section& section,
                          std::span<const Key<Owner>> keys) {
    const auto dumped = [](const Key<Owner>& of) {
      return of.alias_of.empty() ? of.name : of.alias_of;
    };
    if (is_list(key)) return false;
    return std::ranges::any_of(section.entries, [&](const Entry& other) {
      const auto* by = other.generation < entry.generation ? find_key(keys, other.key) : nullptr;
      return by != nullptr && (dumped(*by) == dumped(key) || by->name == key.beside);
    });
  }

  static bool is_misplaced(SectionKind kind, std::string_view key) {
    return kind == SectionKind::table ? find_key(searchd_keys(), key) != nullptr
                                      : find_key(table_keys(), key) != nullptr;
  }

  /// Checks the value of a key that belongs in another section.
  template <class Owner>
  void check_misplaced(const Entry& entry, std::span<const Key<Owner>> keys) {
    Problems notices;
    Owner owner;
    SectionSetter<Owner>(owner, "t", problems_, notices)
        .set_all({.kind = {}, .name = {}, .at = entry.at, .entries = {entry}}, keys);
  }

  template <class Owner>
  static std::string unknown_key(SectionKind kind, std::string_view key,
                                 std::span<const Key<Owner>> keys) {
    if (is_misplaced(kind, key))
      return fmt::format("{} belongs in {}, not here", in_quotes(key),
                         kind == SectionKind::table ? "searchd" : "a distributed table");
    return fmt::format("unknown key {}{}", in_quotes(key), suggestion(key, names_of(keys)));
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
  std::vector<InstanceSettings>& repeated_;
  Settings settings_;
  std::optional<Place> ignored_listen_;  ///< the first line that gave no listener
  Ignored ignored_searchd_;
  Ignored ignored_table_;
  Ignored ignored_tables_;
  std::map<SectionKind, Ignored> ignored_sections_;
};

/// Sorts by file, in order of their first problem, then by place; removes duplicates.
void put_in_order(Problems& problems) {
  std::map<std::string, std::size_t> files;
  for (const auto& problem : problems) files.emplace(problem.at.file, files.size());
  const auto key = [&](const Problem& problem) {
    return std::tuple(files.at(problem.at.file), problem.at.line, problem.at.column);
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return key(a) < key(b); });
  std::set<std::string> known;
  std::erase_if(problems,
                [&](const Problem& problem) { return !known.insert(text(problem)).second; });
}

/// Keeps one of the notices that differ in their place only, if they are more than a few: a setting
/// without effect in each of a thousand tables is one message.
void fold_repeated(Problems& notices) {
  constexpr std::size_t kFew = 3;
  std::map<std::pair<std::string_view, Problem::Severity>, std::vector<const Problem*>> equal;
  for (const auto& notice : notices) equal[{notice.message, notice.severity}].push_back(&notice);
  Problems folded;
  for (const auto& notice : notices) {
    const auto& places = equal[{notice.message, notice.severity}];
    if (places.size() > kFew && places.front() != &notice) continue;
    folded.push_back(notice);
    if (places.size() > kFew)
      folded.back().message +=
          fmt::format("; also in {} more places, such as {} and {}", places.size() - 1,
                      text(places[1]->at), text(places[2]->at));
  }
  notices = std::move(folded);
}

}  // namespace

bool repeats(SectionKind kind, std::string_view key) {
  const auto may = [&](auto keys) {
    const auto* known = find_key(keys, key);
    return known == nullptr || is_list(*known);
  };
  if (kind == SectionKind::searchd) return may(searchd_keys());
  return kind != SectionKind::table || may(table_keys());
}

Settings read(const Tree& tree, Problems& problems, std::vector<InstanceSettings>& repeated) {
  return Reader(problems, repeated).run(tree);
}

Loaded load(const std::string& path, const Environment& environment, FileKind kind,
            const Judge& judge) {
  Loaded loaded;
  const auto tree = parse(path, kind, environment, repeats, loaded.problems);
  std::vector<InstanceSettings> repeated;
  auto settings = read(tree, loaded.problems, repeated);
  auto notices = std::move(settings.notices);
  const auto host = environment.this_host ? environment.this_host() : ThisHost();
  for (auto& again : repeated) {
    Settings alone;
    alone.searchd = std::move(again);
    check(alone, host, loaded.problems, notices);
  }
  check(settings, host, loaded.problems, notices);
  if (judge) judge(settings, loaded.problems, notices);
  settings.notices = std::move(notices);
  put_in_order(loaded.problems);
  put_in_order(settings.notices);
  fold_repeated(settings.notices);
  if (loaded.problems.size() > kEnoughProblems) {
    loaded.problems.erase(loaded.problems.begin() + kEnoughProblems, loaded.problems.end());
    loaded.problems.emplace_back().message = "there are more problems, which are not listed";
  }
  if (loaded.problems.empty()) loaded.settings = std::move(settings);
  return loaded;
}

}  // namespace karmad
