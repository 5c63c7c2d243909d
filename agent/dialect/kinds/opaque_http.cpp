#include "agent/dialect/kinds/dialects.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <ranges>

namespace karmad {

namespace {

/// Removes the last segment and returns it; empty if there is none.
std::string_view take_last(std::string_view& path) {
  const auto slash = path.rfind('/');
  const auto segment = slash == path.npos ? path : path.substr(slash + 1);
  path = slash == path.npos ? std::string_view() : path.substr(0, slash);
  return segment;
}

bool ends_in(std::string_view path, std::string_view tail) {
  while (!tail.empty()) {
    const auto wanted = take_last(tail);
    const auto segment = take_last(path);
    const bool any = wanted == "*" && !segment.empty() && !segment.starts_with('_');
    if (!any && segment != wanted) return false;
  }
  return true;
}

bool names(std::string_view methods, std::string_view method) {
  return std::ranges::any_of(methods | std::views::split(' '),
                             [method](auto each) { return std::ranges::equal(each, method); });
}

std::string_view without_last_slash(std::string_view path) {
  return path.substr(0, path.size() - (path.ends_with('/') ? 1 : 0));
}

bool lists_schema(const ClientRequest& request) {
  const auto path = without_last_slash(request.path);
  return (request.method == "GET" || request.method == "HEAD") &&
         std::ranges::any_of(kSchemaReads, [path](auto tail) { return ends_in(path, tail); });
}

/// Requests of an engine, known by their method and the end of their path.
constexpr struct {
  std::string_view methods;  ///< `GET POST`; GET stands for HEAD too
  std::string_view tail;     ///< as those of kSchemaReads
} kFollowUps[] = {
    {"GET POST DELETE", "_search/scroll"},
    {"GET POST DELETE", "_search/scroll/*"},
    {"DELETE", "_search/scroll/_all"},
    {"DELETE", "_pit"},
    {"DELETE", "_search/point_in_time"},
    {"DELETE", "_search/point_in_time/_all"},
    {"GET DELETE", "_async_search/*"},
    {"GET", "_async_search/status/*"},
    {"GET DELETE", "_plugins/_asynchronous_search/*"},
    {"GET", "_tasks/*"},
    {"POST", "_tasks/_cancel"},
    {"POST", "_tasks/*/_cancel"},
    {"POST", "_sql/close"},
    {"GET", "_sql/async/*"},
    {"GET", "_sql/async/status/*"},
    {"DELETE", "_sql/async/delete/*"},
    {"GET DELETE", "_query/async/*"},
    {"POST", "_query/async/*/stop"},
    {"GET DELETE", "_eql/search/*"},
    {"GET", "_eql/search/status/*"},
    {"GET", "request_cancel"},
};

bool covered(const std::vector<std::string>& patterns, std::string_view path) {
  return std::ranges::any_of(patterns, [path](std::string_view pattern) {
    if (!pattern.ends_with('*')) return pattern == path;
    pattern.remove_suffix(1);
    return path.starts_with(pattern);
  });
}

/// The methods of the registry (www.iana.org/assignments/http-methods, RFC 9110 section 18.2) that
/// are passed on, the frequent ones first.
constexpr std::string_view kMethods =
    "GET POST HEAD PUT DELETE OPTIONS PATCH ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL "
    "LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH "
    "PROPFIND PROPPATCH QUERY REBIND REPORT SEARCH UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE "
    "UPDATEREDIRECTREF VERSION-CONTROL";

class OpaqueHttp final : public Dialect {
 public:
  explicit OpaqueHttp(TableRoute route)
      : Dialect(write_error_with_status), route_(std::move(route)) {}

  TicketClass ticket_class(const ClientRequest& request) const override {
    // A follow-up frees resources of its mirror, so it needs no ticket (AC-005).
    if (is_follow_up(request.method, request.path)) return TicketClass::exempt;
    return reads(request) ? TicketClass::search : TicketClass::update;
  }

  OrError<Parsed> parse(const ClientRequest& request) const override {
    if (request.method == "TRACE")
      return std::unexpected(ClientError{501, "TRACE is not passed on: it shows header fields"});
    if (!route_.any_method && !names(kMethods, request.method))
      return std::unexpected(ClientError{
          501, fmt::format("the method {} is unknown; `methods = any` in the table passes it on",
                           request.method)});
    Parsed parsed;
    parsed.table = route_.table;
    // A follow-up may go wherever its search could go.
    parsed.follow_up = is_follow_up(request.method, request.path);
    parsed.read = parsed.follow_up || reads(request);
    parsed.unclassified = !parsed.read && request.method == "POST" && !is_known_update(request);
    parsed.should_use_primary = !parsed.follow_up && lists_schema(request);
    return parsed;
  }

  AgentRequest write(const ClientRequest& request, const Parsed&, std::span<const std::string>,
                     std::string& buffer) const override {
    buffer.clear();
    append_mirrors_path(buffer, request);
    if (!request.query.empty()) buffer.append("?").append(request.query);
    return {request.method, buffer, request.content_type, request.body};
  }

  Judgement judge(const AgentReply& reply, bool) const override {
    if (reply.status < 400) return {Outcome::answered, {}};
    const bool mistake = reply.status < 500 && reply.status != 408 && reply.status != 429;
    return {mistake ? Outcome::client_mistake : Outcome::agent_error,
            fmt::format("answered with status {}", reply.status)};
  }

 private:
  bool reads(const ClientRequest& request) const {
    return request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS" ||
           (request.method == "POST" && covered(route_.reads, request.path));
  }

  void append_mirrors_path(std::string& out, const ClientRequest& request) const {
    if (route_.path)
      append_moved(out, request.path, route_.route, *route_.path);
    else
      out.append(request.path);
  }

  bool is_known_update(const ClientRequest& request) const {
    std::string path;
    append_mirrors_path(path, request);
    return !update_path_in(path).empty();
  }

  TableRoute route_;
};

}  // namespace

bool is_follow_up(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  path = without_last_slash(path);
  return std::ranges::any_of(kFollowUps, [&](const auto& each) {
    return ends_in(path, each.tail) && names(each.methods, method);
  });
}

constexpr DialectKind kHttp{
    .name = "http",
    .capabilities = {.passes_fields = true, .understands_errors = false, .one_shard = true},
    .endpoints = {},
    .make_routed = make_opaque_http};

std::unique_ptr<Dialect> make_opaque_http(TableRoute route) {
  return std::make_unique<OpaqueHttp>(std::move(route));
}

}  // namespace karmad
