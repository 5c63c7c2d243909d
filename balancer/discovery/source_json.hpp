#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/discovery/found.hpp"

namespace karmad {

// Reading the JSON of sources, which may hold anything.

using JsonValue = rapidjson::Value;

/// At most kLongestSource bytes; nesting costs no stack. The error names line and column.
std::expected<rapidjson::Document, std::string> parse_source(std::string_view text);

/// A value for people, at most 60 characters.
std::string shown(const JsonValue& value);

/// `{"address": "10.0.0.1:9308", "table": …, "shard": 1, "remote": …, "role": …, "tags": …,
/// "weight": 1, "state": …}`; only the address is required. The error names the member.
std::expected<FoundEntry, std::string> read_entry(const JsonValue& value);

/// A list of such objects, with at least one. The error names line and column, or the entry.
std::expected<FoundEntries, std::string> read_entries(std::string_view json);

/// What is wrong with the entries: too many, one address twice in a shard, or one that no server
/// has.
std::expected<void, std::string> check_entries(const FoundEntries& entries);

/// As a JSON object,
/// `{"tables":[{"name","mirrors":[…]}],"names":[{"host","srv","addresses","mirrors"
/// :[{"address","port","weight"}]}]}`. `mirrors` of a table: entries as above.
std::string last_found_json(const LastFound& found);
/// Reads the member `found` of a JSON object; nothing if there is none. The error says what is
/// wrong.
std::expected<LastFound, std::string> last_found_in(std::string_view json);

// The JSON of etcd's gateway (API v3): keys and values are in base64, numbers are texts. Pure.

/// The body of POST /v3/kv/range for all keys with this prefix.
std::string range_request(std::string_view prefix);
/// The body of POST /v3/watch for changes of these keys from that revision on.
std::string watch_request(std::string_view prefix, std::uint64_t revision);

/// The body of POST /v3/auth/authenticate for USER:PASSWORD.
std::string login_request(std::string_view user);
/// The token that it gives, which may stand in a field of HTTP.
std::expected<std::string, std::string> read_login(std::string_view json);

struct EtcdRange {
  std::uint64_t revision = 0;
  FoundEntries entries;
};
/// Each value is the object of one mirror (read_entry()); its key only orders them. The error names
/// the key.
std::expected<EtcdRange, std::string> read_range(std::string_view json);

/// What a line of a watch says.
enum class EtcdNote : std::uint8_t {
  nothing,
  changed,  ///< a key has changed: read the range again
  lost,     ///< the watch has ended: read the range again, and watch from its revision
};
std::expected<EtcdNote, std::string> read_watch_line(std::string_view line);

// EndpointSlices (discovery.k8s.io/v1) as the API server sends them. Pure.

/// What matters of a slice. The API puts at most 1000 end points into one.
struct EndpointSlice {
  struct Port {
    std::string name;
    std::uint16_t port = 0;
    auto operator<=>(const Port&) const = default;
  };
  struct Endpoint {
    std::string host;  ///< an IP address
    std::string zone;  ///< empty: none
    auto operator<=>(const Endpoint&) const = default;
  };
  std::vector<Port> ports;
  std::vector<Endpoint> endpoints;  ///< those that are ready
  auto operator<=>(const EndpointSlice&) const = default;
};
/// All slices of a service, by name.
using EndpointSlices = std::map<std::string, EndpointSlice>;

struct SliceList {
  std::string version;  ///< from which a watch continues
  std::string more;     ///< `continue` of the next request; empty: complete
  EndpointSlices slices;
};
std::expected<SliceList, std::string> read_slice_list(std::string_view json);

/// One line of a watch.
struct SliceEvent {
  enum class Kind : std::uint8_t {
    changed,  ///< added or modified
    deleted,
    bookmark,  ///< only the version is new
    expired,   ///< the version is too old: list again
  };
  Kind kind = Kind::bookmark;
  std::string version;
  std::string name;  ///< of the slice
  EndpointSlice slice;
};
std::expected<SliceEvent, std::string> read_slice_event(std::string_view line);

/// Applies it to the slices.
void apply(const SliceEvent& event, EndpointSlices& slices);

/// The mirrors of all slices, each address once, in order, with the tag `zone` if it has one.
/// `port`: name of the port; empty: the first one of the slice.
std::expected<FoundEntries, std::string> merged(const EndpointSlices& slices,
                                                std::string_view port);

/// The target of the request for the list or, with a version, for the watch from there on.
std::string slices_target(std::string_view service, const std::string& more);
std::string slices_watch_target(std::string_view service, const std::string& version);

}  // namespace karmad
