// What reads bytes of clients, mirrors and others beside queries: each a fuzz target of its own, by
// name.

#include "fuzz/readers.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/transport/http/field_values.hpp"
#include "agent/transport/http/http_head.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "agent/transport/http/wire_protocol.hpp"
#include "balancer/core/forwarded.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/discovery/source_json.hpp"
#include "balancer/handover/channel.hpp"
#include "balancer/handover/learned.hpp"
#include "balancer/ingress/proxy_header.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/mysql/session_state.hpp"
#include "balancer/operate/admin_call.hpp"
#include "balancer/operate/overrides.hpp"
#include "balancer/operate/secrets.hpp"
#include "balancer/simulate/replay/access_trace.hpp"
#include "balancer/trace/request_identity.hpp"
#include "config/agent_line.hpp"
#include "config/effective.hpp"
#include "config/load.hpp"
#include "config/settings/units.hpp"
#include "fuzz/query_run.hpp"

namespace karmad {
namespace {

SourceText source(std::string_view text) {
  SourceText made("input");
  made.add_substituted(text, 1, 1);
  return made;
}

void read_request(std::string_view bytes) {
  RequestHead head;
  const auto state = parse_request_head(bytes, {}, head);
  if (!state || *state != HeadState::complete) return;
  require(!head.path.empty() && head.size <= bytes.size(), "the head of a request", bytes);
  // What follows does not change it, and less is less.
  RequestHead same;
  const auto alone = parse_request_head(bytes.substr(0, head.size), {}, same);
  require(
      alone && *alone == HeadState::complete && same.path == head.path && same.query == head.query,
      "a head means another thing alone", bytes);
  const auto less = parse_request_head(bytes.substr(0, head.size - 1), {}, same);
  require(less && *less == HeadState::incomplete, "a part of a head is complete", bytes);
  url_decoded(head.path);
  trace_context(head);
  AddressRanges trusted;
  if (auto ranges = parse_ranges("10.0.0.0/8, ::1")) trusted = *std::move(ranges);
  forwarded_client(head, trusted);
  for (const bool is_trusted : {false, true})
    ForwardedFields{head, {.peer = "10.1.2.3", .trusted = is_trusted}};
  const auto offered = offered_upgrade(head);
  require(!accepts_offer(head, {}), "an answer takes what was not offered", bytes);
  accepts_offer(head, offered);
}

/// The options of a request about its mirrors, in its head and its URL.
void read_options(std::string_view bytes) {
  RequestHead head;
  const auto state = parse_request_head(bytes, {}, head);
  if (!state || *state != HeadState::complete) return;
  auto parameters = head.query;
  std::string rest;
  RequestFields options;
  const auto mistake = read_request_fields(head, parameters, rest, options);
  require(!mistake || !mistake->reason.empty(), "options are refused without a reason", bytes);
  if (mistake) return;
  // Those of karmad are gone, so that reading the rest again finds none.
  RequestFields none;
  std::string same;
  auto remaining = parameters;
  require(!read_request_fields(kNoFields, remaining, same, none) && !none.preference &&
              remaining == parameters,
          "a parameter of karmad is passed on", bytes);
}

void read_response(std::string_view bytes) {
  for (const bool to_head : {false, true}) {
    ResponseHead head;
    const auto state = parse_response_head(bytes, {}, to_head, head);
    require(state || state.error().status == 502, "the head of an answer", bytes);
    if (!state || *state != HeadState::complete) continue;
    require(head.size <= bytes.size() && head.status >= 100, "the head of an answer", bytes);
    reported_load(head.find("endpoint-load-metrics"));
  }
}

/// In pieces it means the same as in one.
void read_chunked(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto step = static_cast<std::size_t>(bytes[0] & 15) + 1;
  bytes.remove_prefix(1);
  constexpr std::size_t kMost = 1000;
  ChunkedBody whole(kMost);
  std::string content;
  const auto read = whole.put(bytes, content);
  ChunkedBody cut(kMost);
  std::string joined;
  std::size_t total = 0;
  for (std::size_t at = 0; at < bytes.size() && !cut.done(); at += step) {
    const auto part = cut.put(bytes.substr(at, step), joined);
    if (!part) return require(!read, "pieces of a chunked body are refused", bytes);
    total += *part;
  }
  require(read && cut.done() == whole.done() && joined == content && total == *read &&
              content.size() <= kMost,
          "a chunked body in pieces", bytes);
}

/// A configuration without mistakes is written so that it is read as the same.
void read_config(std::string_view bytes) {
  const auto load_text = [](std::string_view text) {
    return load("input", {.read_file = [text](const std::string& path, std::size_t,
                                              FileKind) -> std::expected<std::string, std::string> {
                            if (path != "input") return std::unexpected("there is no such file");
                            return std::string(text);
                          },
                          .glob = [](const std::string&) { return std::vector<std::string>(); },
                          .variable = [](const std::string& name) -> std::optional<std::string> {
                            if (name != "HOST") return std::nullopt;
                            return "search1";
                          },
                          .this_host = [] { return ThisHost(); }});
  };
  const auto loaded = load_text(bytes);
  require(loaded.settings || !loaded.problems.empty(), "no settings and no problem", bytes);
  if (!loaded.settings) return;
  const auto written = dump(*loaded.settings);
  const auto again = load_text(written);
  require(again.settings.has_value(), "what is dumped cannot be loaded", written);
  const auto changes =
      difference(effective_settings(*loaded.settings), effective_settings(*again.settings));
  require(changes.empty(), changes.empty() ? "" : text(changes.front()), written);
}

void read_agent_line(std::string_view bytes) {
  Problems problems;
  Problems notices;
  const auto shard = parse_agent_line(source(bytes), "products", problems, notices);
  if (!problems.empty()) return;
  const auto written = text(shard);
  const auto again = parse_agent_line(source(written), "products", problems, notices);
  require(problems.empty() && text(again) == written, "an agent line is written as another",
          written);
}

void read_listen_line(std::string_view bytes) {
  Problems problems;
  Problems notices;
  const auto listen = parse_listen(source(bytes), problems, notices);
  require(listen || !problems.empty() || !notices.empty(), "a listen line is nothing", bytes);
}

/// Every kind of ping: a byte for the status, then the answers, parted by 0x1e.
void read_pings(std::string_view bytes) {
  if (bytes.empty()) return;
  constexpr std::array kStatuses{200, 204, 301, 401, 403, 404, 429, 500, 503};
  const auto status = kStatuses.at(static_cast<std::uint8_t>(bytes[0]) % kStatuses.size());
  bytes.remove_prefix(1);
  for (const auto* const kind : kPingKinds) {
    std::vector<PingAnswer> answers;
    auto rest = bytes;
    for (std::size_t i = 0; i < kind->requests("", "products").size(); ++i) {
      const auto end = std::min(rest.find('\x1e'), rest.size());
      answers.push_back({status, rest.substr(0, end)});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const auto said = describe_ping(*kind, answers, "127.0.0.1:9200", "products");
    require(said || !said.error().empty(), "a ping fails without a reason", bytes);
  }
  const auto native = parse_description(bytes);
  if (!native) return;
  const auto again = parse_description(text(*native));
  require(again && *again == *native, "a description is written as another", text(*native));
}

void read_discovery(std::string_view bytes) {
  const auto found = read_entries(bytes);
  require(found || !found.error().empty(), "a source fails without a reason", bytes);
  require(!found || found->size() <= kMostEntries, "too many mirrors", bytes);
}

/// What the API server of Kubernetes sends: a list, then the lines of a watch.
void read_kubernetes(std::string_view bytes) {
  const auto end = std::min(bytes.find('\n'), bytes.size());
  auto list = read_slice_list(bytes.substr(0, end));
  require(list || !list.error().empty(), "a list fails without a reason", bytes);
  auto slices = list ? std::move(list->slices) : EndpointSlices();
  for (auto rest = bytes.substr(std::min(end + 1, bytes.size())); !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto event = read_slice_event(line);
    require(event || !event.error().empty(), "a line fails without a reason", bytes);
    if (event) apply(*event, slices);
  }
  for (const auto* port : {"", "http"}) {
    const auto found = merged(slices, port);
    require(!found || found->size() <= kMostEntries, "too many mirrors", bytes);
  }
}

/// What etcd sends: a range, a token, and the line of a watch. And base64 itself.
void read_etcd(std::string_view bytes) {
  const auto range = read_range(bytes);
  require(range || !range.error().empty(), "a range fails without a reason", bytes);
  require(!range || range->entries.size() <= kMostEntries, "too many mirrors", bytes);
  const auto login = read_login(bytes);
  require(login || !login.error().empty(), "a login fails without a reason", bytes);
  const auto note = read_watch_line(bytes);
  require(note || !note.error().empty(), "a line fails without a reason", bytes);
  const auto back = bytes_of_base64(base64_of(bytes));
  require(back && *back == bytes, "bytes are another text in base64", bytes);
}

void read_admin(std::string_view bytes) {
  for (const auto name : kAdminVerbs.all()) {
    const auto call = parse_admin_call(*kAdminVerbs.find(name), bytes);
    require(call || !call.error().empty(), name, bytes);
  }
  const auto overrides = parse_overrides(bytes);
  if (!overrides) return;
  const auto written = overrides_json(*overrides);
  const auto again = parse_overrides(written);
  require(again && overrides_json(*again) == written, "changes are written as others", written);
}

void read_takeover(std::string_view bytes) {
  if (const auto head = decode_head(bytes.substr(0, kFrameHead))) {
    const auto written = encode(*head);
    require(bytes.starts_with(std::string_view(written.data(), written.size())),
            "the head of a frame", bytes);
    bytes.remove_prefix(kFrameHead);
  }
  const auto learned = parse_learned(bytes);
  if (!learned) return;
  const auto again = parse_learned(to_json(*learned));
  require(again && to_json(*again) == to_json(*learned), "what was learned is written as another",
          bytes);
}

/// A packet of a client; as the text and the values of a prepared statement, parted by 0x1e.
void read_mysql(std::string_view bytes) {
  mysql::asks_for_tls(bytes);
  for (const bool encrypted : {false, true}) mysql::read_handshake(bytes, encrypted);
  for (const std::uint32_t capabilities : {0U, 0x8000U, 0xffffffffU})
    mysql::read_change_user(bytes, capabilities);
  const auto end = std::min(bytes.find('\x1e'), bytes.size());
  auto prepared = mysql::prepare_statement(bytes.substr(0, end));
  if (!prepared) return;
  constexpr std::size_t kMost = 5000;
  for (int i = 0; i < 2; ++i) {  // the second may leave out the types
    const auto bound =
        mysql::bind_values(*prepared, bytes.substr(std::min(end + 1, bytes.size())), kMost);
    require(!bound || bound->size() <= kMost, "a statement is too long", bytes);
  }
}

void read_proxy(std::string_view bytes) {
  const auto header = read_proxy_header(bytes, 536);
  if (!header || !*header) return;
  const auto size = (*header)->size;
  require(size >= kShortestProxyHeader && size <= bytes.size(), "the size of a header", bytes);
  const auto less = read_proxy_header(bytes.substr(0, size - 1), 536);
  require(less && !*less, "a part of a header is complete", bytes);
}

void read_secret(std::string_view bytes) {
  const auto credentials = parse_credentials(bytes);
  require(!credentials || credentials->find_first_of("\r\n") == std::string::npos,
          "credentials of several lines", bytes);
  parse_users(bytes);
  parse_tokens(bytes);
}

void read_access_log(std::string_view bytes) {
  simulate::AccessLine line;
  simulate::parse_access_line(bytes, line);
}

void read_protocol(std::string_view bytes) {
  const auto protocol = recognize_protocol(bytes);
  for (std::string shown : {printable(bytes), protocol ? protocol->text() : std::string()}) {
    constexpr std::string_view kCut = "…";  // karmad's own
    for (auto at = shown.find(kCut); at != shown.npos; at = shown.find(kCut))
      shown.erase(at, kCut.size());
    for (const char c : shown) require(c >= ' ' && c < 0x7f, "a message for a terminal", shown);
  }
}

struct FuzzReader {
  std::string_view name;
  void (*run)(std::string_view bytes);
};
constexpr std::array kReaders{
    FuzzReader{"request", read_request},
    FuzzReader{"options", read_options},
    FuzzReader{"response", read_response},
    FuzzReader{"chunked", read_chunked},
    FuzzReader{"config", read_config},
    FuzzReader{"agent_line", read_agent_line},
    FuzzReader{"listen_line", read_listen_line},
    FuzzReader{"ping", read_pings},
    FuzzReader{"discovery", read_discovery},
    FuzzReader{"kubernetes", read_kubernetes},
    FuzzReader{"etcd", read_etcd},
    FuzzReader{"admin", read_admin},
    FuzzReader{"takeover", read_takeover},
    FuzzReader{"mysql", read_mysql},
    FuzzReader{"proxy", read_proxy},
    FuzzReader{"secret", read_secret},
    FuzzReader{"access_log", read_access_log},
    FuzzReader{"protocol", read_protocol},
};

}  // namespace

bool fuzz_reader(std::string_view name, std::string_view bytes) {
  for (const auto& reader : kReaders)
    if (reader.name == name) {
      reader.run(bytes);
      return true;
    }
  return false;
}

}  // namespace karmad
