#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "config/settings/settings.hpp"
#include "config/settings/words.hpp"

namespace karmad {

/// The allowed range of a number (micros, bytes or a count), for a list of times of each element.
/// `bare` is the unit of a time without suffix.
struct Bounds {
  std::int64_t lowest = 0;
  std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  Micros bare{1};
  bool zero = false;              ///< 0 is allowed, although below `lowest`
  std::string_view zero_word;     ///< a word that is accepted for 0
  std::string_view zero_means{};  ///< if set, 0 must be written as the word, with this meaning
};

/// The member of `Owner` that a key sets; monostate: the reader handles the key itself.
template <class Owner, class... Values>
using FieldOf =
    std::variant<std::monostate, std::vector<Listen> Owner::*, std::vector<ShardSettings> Owner::*,
                 std::vector<std::string> Owner::*, Located<Values> Owner::*...,
                 std::optional<Located<Values>> Owner::*...>;
template <class Owner>
using KeyField =
    FieldOf<Owner, Micros, std::vector<Micros>, Rate, AddressRanges, AppNames, Origins, unsigned,
            std::size_t, bool, std::string, PartialResults, Collation, LookUp, Updates, Methods,
            ShardBy, Consistency, LogLevel, RequestIds, StatusOnQueryPort, LogFormat, AdmissionMode,
            QueueOrder, TicketResize, Outlier, Required, TicketCount, MemorySize, FileMode, double,
            Resolve, AgentTls, DnsServers, DiscoverySource, PassAuthorization, ClientAuth,
            Compress>;

/// The most specific level at which a setting may be given; all more general levels are allowed
/// too. The struct of its field decides: InheritedByTables and the like, or none.
enum class Level : std::uint8_t { instance, table, line, mirror };
template <class Owner>
inline constexpr Level kLevelOf = std::is_same_v<Owner, InheritedByMirrors>   ? Level::mirror
                                  : std::is_same_v<Owner, InheritedByLines>   ? Level::line
                                  : std::is_same_v<Owner, InheritedByTables>  ? Level::table
                                  : std::is_same_v<Owner, ForwardingSettings> ? Level::table
                                                                              : Level::instance;

/// One key of the configuration: the row from which it is read, inherited, checked, dumped and
/// documented (keys.txt). If two rows set the same field, the later one wins.
template <class Owner>
struct Key {
  std::string_view name;
  KeyField<Owner> field;
  Bounds bounds{};
  std::string_view alias_of{};  ///< the key that is dumped instead
  /// Values from the search server's files that are accepted and ignored.
  std::span<const std::string_view> foreign{};
  Level level = Level::instance;
  /// If a level sets that key, it does not inherit this one.
  std::string_view beside{};
  /// The owner inherits it: if not set there, the value of the level above is used.
  bool inherited = false;
};

/// What the documentation says of a key, from keys.txt. Texts are Markdown: only `code` is used.
struct KeyDoc {
  std::string meaning;
  std::string unset;  ///< of an optional field or list: what counts if it is not set
};

KeyDoc doc_of(const Key<InstanceSettings>& key);
KeyDoc doc_of(const Key<TableSettings>& key);

/// The keys of `searchd`, in the order of the documentation.
std::span<const Key<InstanceSettings>> searchd_keys();
/// The keys of a distributed table: first its own, then the inherited ones.
std::span<const Key<TableSettings>> table_keys();
/// The inherited settings of an agent line and of a mirror, where they are written as options.
std::span<const Key<ShardSettings>> line_keys();
std::span<const Key<MirrorSettings>> mirror_keys();

template <class Owner>
bool is_list(const Key<Owner>& key) {
  return std::holds_alternative<std::vector<Listen> Owner::*>(key.field) ||
         std::holds_alternative<std::vector<ShardSettings> Owner::*>(key.field) ||
         std::holds_alternative<std::vector<std::string> Owner::*>(key.field);
}

}  // namespace karmad
