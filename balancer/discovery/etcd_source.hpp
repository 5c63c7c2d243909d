#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "balancer/discovery/found.hpp"

namespace karmad {

// The JSON of etcd's gateway (API v3): keys and values are in base64, numbers are texts. Pure.

/// The body of POST /v3/kv/range for all keys with this prefix.
std::string range_request(std::string_view prefix);
/// The body of POST /v3/watch for changes of these keys from that revision on.
std::string watch_request(std::string_view prefix, std::uint64_t revision);

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

}  // namespace karmad
