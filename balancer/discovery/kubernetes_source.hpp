#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/discovery/found.hpp"

namespace karmad {

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
