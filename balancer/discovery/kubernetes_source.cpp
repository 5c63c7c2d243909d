#include "balancer/discovery/source_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/json/json_tree.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "balancer/discovery/following.hpp"
#include "config/settings/address.hpp"

namespace karmad {
namespace {

constexpr int kGone = 410;
constexpr std::size_t kMostSlices = 1000;
constexpr std::size_t kListedAtOnce = 100;
constexpr std::size_t kWatchSeconds = 300;  // then the API server ends it, and a new one begins

/// Consumers must take a missing condition as ready.
bool is_ready(const JsonValue& endpoint) {
  const auto* ready = member_of(member_of(&endpoint, "conditions"), "ready");
  return ready == nullptr || !ready->IsFalse();
}

std::expected<EndpointSlice, std::string> read_slice(const JsonValue& object) {
  EndpointSlice slice;
  const auto type = text_member(object, "addressType");
  if (type != "IPv4" && type != "IPv6") return slice;  // names: not promised to be resolvable
  for (const auto& port : list_member(object, "ports")) {
    const auto* number = member_of(&port, "port");
    if (number != nullptr && number->IsUint() && number->GetUint() - 1 < 65535)
      slice.ports.push_back(
          {std::string(text_member(port, "name")), static_cast<std::uint16_t>(number->GetUint())});
  }
  std::string wrong;
  for (const auto& endpoint : list_member(object, "endpoints")) {
    // Only the first address is defined to be used.
    const auto addresses = list_member(endpoint, "addresses");
    if (!is_ready(endpoint) || addresses.empty()) continue;
    const auto& first = addresses[0];
    std::string host = first.IsString() ? first.GetString() : "";
    if (!is_ip_address(host)) {
      wrong = fmt::format("{} is not an IP address", shown(first));
    } else if (slice.endpoints.size() < kMostEntries) {
      slice.endpoints.push_back({std::move(host), std::string(text_member(endpoint, "zone"))});
    }
  }
  if (!wrong.empty()) return std::unexpected(wrong);
  return slice;
}

std::string metadata(const JsonValue& object, std::string_view name) {
  return std::string(text_of(member_of(member_of(&object, "metadata"), name)));
}

/// The error that the API server answers instead (`Status`).
std::string status_error(const JsonValue& value) {
  if (text_member(value, "kind") != "Status") return {};
  return fmt::format("the API server says: {}", text_member(value, "message").substr(0, 200));
}

std::string slices_path(std::string_view service) {
  const auto slash = service.find('/');
  return fmt::format(
      "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?labelSelector=kubernetes.io%2F"
      "service-name%3D{}",
      service.substr(0, slash), service.substr(slash + 1));
}

constexpr Micros kLongestSilence = 330s;  // the API server ends a watch after 300 s
constexpr std::size_t kMostPages = 100;

/// Reads all pages; the error, or nothing.
Task<std::string> list_slices(Following& of, SourceClient& client, SliceList& all) {
  for (std::size_t page = 0; page < kMostPages; ++page) {
    const SourceRequest request{slices_target(of.source.name, all.more), {}};
    const auto answer = co_await client.ask(request);
    if (!answer) co_return answer.error();
    auto list = read_slice_list(*answer);
    if (!list) co_return list.error();
    all.slices.merge(list->slices);
    all.version = std::move(list->version);
    all.more = std::move(list->more);
    if (all.more.empty()) co_return std::string();
  }
  co_return std::string("the list has no end");
}

/// Follows the changes until the watch ends. Returns an error; else nothing.
Task<std::string> watch_slices(Following& of, SourceClient& client, SliceList& all) {
  const SourceRequest request{slices_watch_target(of.source.name, all.version), {}};
  const auto begun = co_await client.watch(request);
  if (!begun) co_return begun.error();
  for (;;) {
    const auto line = co_await client.next_line(kLongestSilence);
    // The end of a watch is ordinary: a new list follows, and its errors count.
    if (!line || !*line) co_return std::string();
    const auto event = read_slice_event(**line);
    if (!event) co_return event.error();
    if (event->kind == SliceEvent::Kind::expired) co_return std::string();
    apply(*event, all.slices);
    if (event->kind != SliceEvent::Kind::bookmark) of.report(merged(all.slices, of.source.port));
  }
}

Task<std::string> kubernetes_session(Following& of, SourceClient& client) {
  constexpr Micros kBetweenLists = 1s;  // at least, should watches end at once
  while (!of.stopped()) {
    SliceList all;
    auto why = co_await list_slices(of, client, all);
    if (!why.empty()) co_return why;
    of.report(merged(all.slices, of.source.port));
    why = co_await watch_slices(of, client, all);
    if (!why.empty()) co_return why;
    co_await of.pause(kBetweenLists);
  }
  co_return std::string();
}

}  // namespace

std::expected<SliceList, std::string> read_slice_list(std::string_view json) {
  const auto document = parse_source(json);
  if (!document) return std::unexpected(document.error());
  if (auto error = status_error(*document); !error.empty()) return std::unexpected(error);
  if (text_member(*document, "kind") != "EndpointSliceList")
    return std::unexpected("not an answer of the API server: its kind is not EndpointSliceList");
  SliceList list{.version = metadata(*document, "resourceVersion"),
                 .more = metadata(*document, "continue")};
  std::string wrong;
  for (const auto& item : list_member(*document, "items")) {
    auto slice = read_slice(item);
    const auto name = metadata(item, "name");
    if (!slice)
      wrong = fmt::format("slice {}: {}", name, slice.error());
    else if (list.slices.size() < kMostSlices)
      list.slices[name] = *std::move(slice);
  }
  if (!wrong.empty()) return std::unexpected(wrong);
  return list;
}

std::expected<SliceEvent, std::string> read_slice_event(std::string_view line) {
  const auto document = parse_source(line);
  if (!document) return std::unexpected(document.error());
  const auto type = text_member(*document, "type");
  const auto* object = member_of(&*document, "object");
  if (object == nullptr) return std::unexpected("not an event of a watch: it has no object");
  SliceEvent event{.version = metadata(*object, "resourceVersion"),
                   .name = metadata(*object, "name")};
  if (type == "ERROR") {
    const auto* code = member_of(object, "code");
    if (code == nullptr || !code->IsInt() || code->GetInt() != kGone) {
      auto error = status_error(*object);
      if (error.empty()) error = "the watch has ended with an error that is not told";
      return std::unexpected(std::move(error));
    }
    event.kind = SliceEvent::Kind::expired;
    return event;
  }
  if (type == "BOOKMARK") return event;
  if (type == "DELETED") {
    event.kind = SliceEvent::Kind::deleted;
    return event;
  }
  if (type != "ADDED" && type != "MODIFIED")
    return std::unexpected(
        fmt::format("not an event of a watch: its type is '{}'", type.substr(0, 60)));
  event.kind = SliceEvent::Kind::changed;
  auto slice = read_slice(*object);
  if (!slice) return std::unexpected(fmt::format("slice {}: {}", event.name, slice.error()));
  event.slice = *std::move(slice);
  return event;
}

void apply(const SliceEvent& event, EndpointSlices& slices) {
  if (event.kind == SliceEvent::Kind::deleted) slices.erase(event.name);
  if (event.kind != SliceEvent::Kind::changed) return;
  if (slices.size() < kMostSlices || slices.contains(event.name)) slices[event.name] = event.slice;
}

std::expected<FoundEntries, std::string> merged(const EndpointSlices& slices,
                                                std::string_view port) {
  std::map<Address, std::string> zones;
  bool has_port = slices.empty();
  for (const auto& [name, slice] : slices) {
    const auto found = port.empty()
                           ? slice.ports.begin()
                           : std::ranges::find(slice.ports, port, &EndpointSlice::Port::name);
    if (found == slice.ports.end()) continue;
    has_port = true;
    for (const auto& [host, zone] : slice.endpoints)
      zones.try_emplace({.host = host, .port = found->port, .unix_path = {}}, zone);
  }
  if (!has_port)
    return std::unexpected(port.empty() ? std::string("its slices have no port")
                                        : fmt::format("no slice has a port named '{}'", port));
  FoundEntries entries;
  for (const auto& [address, zone] : zones) {
    auto& mirror = entries.emplace_back().mirror;
    mirror.address = address;
    if (!zone.empty()) mirror.tags = "zone:" + zone;
  }
  if (auto sound = check_entries(entries); !sound) return std::unexpected(sound.error());
  return entries;
}

std::string slices_target(std::string_view service, const std::string& more) {
  auto target = fmt::format("{}&limit={}", slices_path(service), kListedAtOnce);
  if (!more.empty()) append_url_encoded(target += "&continue=", more);
  return target;
}

std::string slices_watch_target(std::string_view service, const std::string& version) {
  auto target =
      fmt::format("{}&watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion=",
                  slices_path(service), kWatchSeconds);
  append_url_encoded(target, version);
  return target;
}

std::unique_ptr<MirrorSource> follow_kubernetes(const DiscoverySource& source, SourceRun run) {
  return std::make_unique<FollowedSource>(source, std::move(run), kubernetes_session);
}

}  // namespace karmad
