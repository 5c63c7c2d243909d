#include "config/dump.hpp"

#include <fmt/format.h>

#include "config/agent_line.hpp"
#include "config/settings/attempts.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"

namespace karmad {

namespace {

/// Escapes characters that are syntax.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '#' || c == '{' || c == '}' || c == '$') out += '\\';
    out += c;
  }
  return out;
}

template <class Owner>
class SectionDumper {
 public:
  /// `above`: an owner with inherited values only.
  SectionDumper(const Owner& owner, const Owner& above, std::string& out)
      : owner_(owner), above_(above), out_(out) {}

  void dump_all(std::span<const Key<Owner>> keys) {
    for (const auto& key : keys)
      if (key.alias_of.empty()) std::visit([&](const auto field) { dump(field, key); }, key.field);
  }

 private:
  void line(std::string_view key, std::string_view value, const Place& at) {
    out_ += fmt::format("  {} = {}  # {}\n", key, escaped(value), text(at));
  }
  void unset(const Key<Owner>& key) {
    out_ += fmt::format("  # {} is unset: {}\n", key.name, key.unset);
  }

  void dump(std::monostate, const Key<Owner>&) {
    out_ += "  type = distributed\n";  // the only key without a field
  }

  void dump(std::vector<Listen> Owner::*field, const Key<Owner>& key) {
    for (const auto& listen : owner_.*field) line(key.name, text(listen.address), listen.at);
  }

  /// Shards of agent and agent_persistent are in one list: `agent` writes all of them in order.
  void dump(std::vector<ShardSettings> Owner::*field, const Key<Owner>& key) {
    if (key.name == "agent_persistent") return;
    if constexpr (std::is_same_v<Owner, TableSettings>)
      for (const auto& shard : owner_.*field) line(key.name, text(shard, owner_), shard.at);
  }

  void dump(std::vector<std::string> Owner::*field, const Key<Owner>& key) {
    if constexpr (std::is_same_v<Owner, TableSettings>) {
      if (!(owner_.*field).empty())
        line(key.name, fmt::format("{}", fmt::join(owner_.*field, ", ")), owner_.reads_at);
    }
  }

  template <class T>
  void dump(Located<T> Owner::*field, const Key<Owner>& key) {
    const auto& setting = owner_.*field;
    if (key.inherited && !is_own(setting, above_.*field)) return unset(key);
    auto value = value_text(setting.value, key.bounds);
    if (value.empty() && setting.at.line == 0) return unset(key);
    line(key.name, value, setting.at);
  }

  template <class T>
  void dump(std::optional<Located<T>> Owner::*field, const Key<Owner>& key) {
    const auto& setting = owner_.*field;
    if (!setting || (key.inherited && !is_own(setting, above_.*field))) return unset(key);
    line(key.name, value_text(setting->value, key.bounds), setting->at);
  }

  const Owner& owner_;
  const Owner& above_;
  std::string& out_;
};

}  // namespace

std::string dump(const Settings& settings) {
  std::string out = "searchd {\n";
  SectionDumper<InstanceSettings>(settings.searchd, {}, out).dump_all(searchd_keys());
  out += "}\n";
  const auto above = empty_table(settings.searchd);
  for (const auto& table : settings.tables) {
    out += fmt::format("\ntable {} {{  # {}\n", table.name, text(table.at));
    SectionDumper<TableSettings>(table, above, out).dump_all(table_keys());
    for (const auto& shard : table.shards)
      out += fmt::format("  # at most {} attempts of a request at the shard in {}\n",
                         most_attempts(table, shard), text(shard.at));
    out += "}\n";
  }
  return out;
}

}  // namespace karmad
