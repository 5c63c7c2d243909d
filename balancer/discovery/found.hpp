#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/transport/resolve.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// A mirror as a source of mirrors describes it. All values were checked.
struct FoundMirror {
  Address address;
  std::optional<std::string> remote;  ///< name of the table there; none: as in the configuration
  std::optional<std::string> role;
  std::optional<std::string> tags;  ///< as in an agent line
  unsigned weight = 1;
  ServiceState state = ServiceState::ready;
  auto operator<=>(const FoundMirror&) const = default;
};

/// The same with the place that it names.
struct FoundEntry {
  std::optional<std::string> table;  ///< none: every table that reads this source
  unsigned shard = 1;                ///< from 1
  FoundMirror mirror;
  auto operator<=>(const FoundEntry&) const = default;
};
using FoundEntries = std::vector<FoundEntry>;

/// Most entries, and the highest number of a shard, that a source may have.
inline constexpr std::size_t kMostEntries = 10'000;
inline constexpr unsigned kMostShards = 256;
/// Most bytes of an answer of a source.
inline constexpr std::size_t kLongestSource = 1 << 20;

/// The mirrors of a table, by the number of their shard. No shard is empty.
using Picture = std::map<unsigned, std::vector<FoundMirror>>;
/// By the name of the table.
using Pictures = std::map<std::string, Picture>;

/// What name servers are asked.
struct NameQuestion {
  std::string host;
  bool srv = false;
  auto operator<=>(const NameQuestion&) const = default;
};

/// A mirror that a name stands for.
struct NamedMirror {
  Address address;                 ///< an IP address; port 0: that of the agent line
  std::optional<unsigned> weight;  ///< none: that of the agent line
  auto operator<=>(const NamedMirror&) const = default;
};
using NameAnswers = std::map<NameQuestion, std::vector<NamedMirror>>;

/// What a name stands for.
struct FoundName {
  std::vector<HostAddress> addresses;  ///< as they are to be tried; empty for SRV records
  std::vector<NamedMirror> mirrors;    ///< in order
  bool operator==(const FoundName&) const = default;
};

/// The last good answers of all sources and names. They outlive a process: its successor uses them
/// until it has answers of its own.
struct LastFound {
  Pictures pictures;
  std::map<NameQuestion, FoundName> names;
  bool operator==(const LastFound&) const = default;
};

/// All that was found.
struct FoundMirrors {
  Pictures pictures;
  NameAnswers names;
};

// How the settings of the file become those in use. Pure.

/// The entries that are for this table.
Picture picture_of(const FoundEntries& entries, const std::string& table);

/// The next picture of a table. A shard that has no mirrors in it keeps its last ones, since
/// without it answers would lack a part of the data; its number is added to `kept`. Those that are
/// in another shard now are not kept: answers would have their rows twice.
Picture next_picture(const TableSettings& table, const Picture& last, Picture next,
                     std::vector<unsigned>& kept);

/// Replaces the mirrors of tables with `discovery` by those of their pictures. A shard without any
/// mirror gets one that stands for none (is_placeholder()).
Settings with_pictures(Settings settings, const Pictures& pictures);

/// What must be looked up for these settings. `expands`: only the names that may stand for several
/// mirrors.
std::set<NameQuestion> questions_of(const Settings& settings, bool expands);

/// Replaces mirrors whose names stand for several mirrors (`resolve`) by these. Names without an
/// answer stay as they are. A line keeps its first 64 mirrors in the order of addresses, those with
/// a weight first; each cut adds a sentence to `cuts`.
Settings with_names(Settings settings, const NameAnswers& names, std::vector<std::string>& cuts);

/// Both.
Settings with_found(Settings settings, const FoundMirrors& found, std::vector<std::string>& cuts);

/// Whether the address stands for a mirror that has not been found.
bool is_placeholder(const Address& address);
/// The table that lacks it.
std::string table_of_placeholder(const Address& address);

/// The mirrors that came and went, for people; empty if none did.
std::string mirror_changes(const Settings& before, const Settings& after);

}  // namespace karmad
