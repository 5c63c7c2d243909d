#include "config/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "config/section_setter.hpp"
#include "config/settings/address.hpp"
#include "config/text/closest.hpp"
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

template <class Owner>
std::vector<std::string_view> names_of(std::span<const Key<Owner>> keys) {
  std::vector<std::string_view> names;
  for (const auto& known : keys) names.push_back(known.name);
  return names;
}

bool has_entry(const Section& section, std::string_view key) {
  return std::ranges::any_of(section.entries, [&](const Entry& entry) { return entry.key == key; });
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
    // Its agents may be those of the parent that was not found.
    if (section.orphan && table.shards.empty())
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
        problem(type->value.place(0),
                fmt::format("unknown type {}{}", in_quotes(word), suggestion(word, kTableTypes)));
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
      if (find_key(keys, entry.key) != nullptr) {
        out.entries.push_back(entry);
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
        check_misplaced(section.kind, entry);
        const auto meant = closest(entry.key, names_of(keys));
        if (!meant || is_misplaced(section.kind, entry.key)) continue;
        const auto* key = find_key(keys, *meant);
        if (!is_list(*key) && has_entry(section, *meant)) continue;
        out.entries.push_back(entry);
        out.entries.back().key = *meant;
      }
    }
    return out;
  }

  static bool is_misplaced(SectionKind kind, std::string_view key) {
    return kind == SectionKind::table ? find_key(searchd_keys(), key) != nullptr
                                      : find_key(table_keys(), key) != nullptr;
  }

  /// Checks the value of a key that belongs in another section.
  void check_misplaced(SectionKind kind, const Entry& entry) {
    Problems notices;
    const Section alone{.kind = {}, .name = {}, .at = entry.at, .entries = {entry}};
    if (kind == SectionKind::table) {
      InstanceSettings searchd;
      SectionSetter<InstanceSettings>(searchd, {}, problems_, notices)
          .set_all(alone, searchd_keys());
    } else {
      TableSettings table;
      SectionSetter<TableSettings>(table, "t", problems_, notices).set_all(alone, table_keys());
    }
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

Settings read(const Tree& tree, Problems& problems, std::vector<InstanceSettings>& repeated) {
  return Reader(problems, repeated).run(tree);
}

}  // namespace karmad
