#include "balancer/endpoints/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/endpoints/handlers.hpp"
#include "balancer/endpoints/packed_body.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

bool is_control(int byte) {
  return byte < 0x20 || byte == 0x7f;
}

std::string_view trouble_with_escape(int byte) {
  if (byte < 0) return "a % without two hexadecimal digits";
  if (byte == '/') return "an encoded slash";
  if (byte == '\\') return "a backslash";
  if (is_control(byte)) return "a control character";
  if (byte == 0xc0 || byte == 0xc1) return "a byte that is not valid in UTF-8";
  return {};
}

/// Whether a character that was encoded twice could be a separator or part of a `..` segment.
bool hides(int byte) {
  return byte == '/' || byte == '\\' || byte == '.' || byte == '%' || byte == ';' ||
         (byte >= 0 && is_control(byte));
}

std::string_view trouble_with_segment(std::string_view segment) {
  std::string decoded;
  for (std::size_t at = 0; at < segment.size(); ++at) {
    char c = segment[at];
    if (c == '%') {
      const auto byte = escaped_byte(segment.substr(at));
      if (const auto trouble = trouble_with_escape(byte); !trouble.empty()) return trouble;
      c = static_cast<char>(byte);
      at += 2;
    } else if (c == '\\') {
      return "a backslash";
    }
    decoded.push_back(c);
  }
  for (std::size_t at = 0; at < decoded.size(); ++at)
    if (hides(escaped_byte(std::string_view(decoded).substr(at))))
      return "a character that is encoded twice";
  const auto name = std::string_view(decoded).substr(0, decoded.find(';'));
  if (name == "." || name == "..") return "a segment . or ..";
  return {};
}

/// Whether the endpoint or the route answers if a path is both.
enum class Precedence : std::uint8_t { endpoint, route };

/// What an endpoint tells: that karmad works, or more. `status_on_query_port` refers to it.
enum class Audience : std::uint8_t { health, status };

/// An endpoint about karmad itself, at this path. Its requests use no mirror and need no ticket.
struct OwnEndpoint {
  std::string_view path;
  Precedence precedence;
  Handler handler;
  std::string_view parameters{};  ///< allowed in its URL, in the format of the field Allow
  bool has_ids = false;           ///< also at `path/ID`
  Audience audience = Audience::status;
};

constexpr std::string_view kOwnMethods = "GET, HEAD";  // in the format of the field Allow
/// Health checks may have any parameters.
constexpr std::string_view kAnyParameters = "*";

/// All other known paths are endpoints of dialects or routes of tables.
constexpr std::array kOwnEndpoints{
    OwnEndpoint{"/", Precedence::route, answer_banner, kAnyParameters, false, Audience::health},
    OwnEndpoint{"/healthz", Precedence::endpoint, answer_healthy, kAnyParameters, false,
                Audience::health},
    OwnEndpoint{"/readyz", Precedence::endpoint, answer_ready, kAnyParameters, false,
                Audience::health},
    OwnEndpoint{"/agents", Precedence::endpoint, answer_agents},
    OwnEndpoint{"/hello", Precedence::endpoint, answer_hello, "table", false, Audience::health},
    OwnEndpoint{"/status", Precedence::endpoint, answer_status},
    OwnEndpoint{"/metrics", Precedence::endpoint, answer_metrics},
    OwnEndpoint{"/events", Precedence::endpoint, answer_events, "since"},
    OwnEndpoint{"/admission", Precedence::endpoint, answer_admission},
    OwnEndpoint{"/dashboard", Precedence::endpoint, answer_dashboard},
    OwnEndpoint{"/explain", Precedence::endpoint, answer_explain,
                "table, read_preference, operation", /*has_ids=*/true},
};

/// The endpoint of that path; null if there is none. Runs several times for each request.
const OwnEndpoint* own_endpoint_at(std::string_view path) {
  const auto is_at = [path](const OwnEndpoint& endpoint) {
    if (path == endpoint.path) return true;
    return endpoint.has_ids && path.starts_with(endpoint.path) && path[endpoint.path.size()] == '/';
  };
  const auto* found = std::ranges::find_if(kOwnEndpoints, is_at);
  return found == kOwnEndpoints.end() ? nullptr : found;
}

bool allows(std::string_view methods, std::string_view method) {
  return std::ranges::any_of(std::views::split(methods, std::string_view(", ")), [&](auto part) {
    return std::string_view(part.begin(), part.end()) == method;
  });
}

/// The endpoint of that path, if it has precedence over the routes of any tables; else null.
const OwnEndpoint* reserved_endpoint_at(std::string_view path) {
  const auto* found = own_endpoint_at(path);
  return found != nullptr && found->precedence == Precedence::endpoint ? found : nullptr;
}

/// The endpoint about karmad itself that answers the query; null if another one does.
const OwnEndpoint* own_endpoint(const Query& query) {
  const auto* found = own_endpoint_at(query.request.path);
  const bool gives_way = found != nullptr && found->precedence == Precedence::route &&
                         query.topology->route(found->path) != nullptr;
  return gives_way ? nullptr : found;
}

/// The highest class of the statements of a request; the lowest if there are none.
template <class Class>
Class highest_class(Query& query, Class (sql::StatementText::*class_of)() const) {
  auto highest = Class{};
  if (const auto& read = statements_of(query))
    for (const auto& one : (*read)->statements) highest = std::max(highest, (one.*class_of)());
  return highest;
}

/// The refusal of a read preference by a request of a class that takes none; nothing if it has none
/// or takes one.
std::optional<Answer> refuse_preference(Query& query, SelectionClass is) {
  const bool updates = is == SelectionClass::must_use_primary;
  if (!query.request.preference || (!updates && is != SelectionClass::should_use_primary))
    return std::nullopt;
  return bad_request(query, 400,
                     fmt::format("{} the primary and takes no read preference; leave out {} and "
                                 "the parameter {}",
                                 updates ? "an update goes to"
                                         : "what lists or describes tables and servers is asked of",
                                 kReadPreference, kPreferenceParameter));
}

/// The same for an endpoint: of statements, the highest class of one. That of a compressed
/// statement is not known.
std::optional<Answer> refuse_preference(Query& query, const ServedPath& served) {
  const auto& endpoint = served.endpoint;
  const bool asks = endpoint.statements != Statements::none && !is_packed(query);
  return refuse_preference(query, query.request.preference && asks
                                      ? highest_class(query, &sql::StatementText::selection_class)
                                      : endpoint.selection_class());
}

/// Notes the table in the path of the request, if the endpoint's pattern has one.
void note_path_table(Query& query, const ServedPath& served) {
  const auto pattern = served.endpoint.path;
  if (!is_pattern(pattern)) return;
  auto& request = query.request;
  request.path_table_raw = pattern_segment(pattern, request.path, kTableSegment);
  if (request.path_table_raw.empty()) return;
  request.path_table = query.keep(decoded_tables(request.path_table_raw).value_or(std::string()));
}

/// The answer to a path without an endpoint and a route.
Answer no_such_path(Worker& worker, const Topology& topology, std::string_view path) {
  auto reason = fmt::format("no endpoint and no route has the path '{}'", path);
  count_refused(worker, 404, reason);
  // Beside the paths of Elasticsearch that are served, clients read its errors.
  if (!path.contains("/_") || topology.endpoint_at("/_search") == nullptr)
    return refusal_at(topology, path, 404, reason);
  return answer_with({.status = 404, .type = "no_handler_found", .reason = std::move(reason)});
}

/// The same; a path that only lacks the right table is told so.
Answer no_such_path(Query& query) {
  const auto path = query.request.path;
  if (const auto* served = query.topology->pattern_of(path)) {
    const auto segment = pattern_segment(served->endpoint.path, path, kTableSegment);
    if (const auto names = decoded_tables(segment))
      return refused_query(query, *served, {404, query.topology->unknown(*names)});
  }
  return no_such_path(query.worker, *query.topology, path);
}

/// Answers a request whose body must be unpacked before it can be parsed.
Task<Answer> unpack_and_answer(Query& query, const ServedPath& served, Scatter scatter) {
  auto refused = co_await unpack_body(query);
  if (refused) co_return *std::move(refused);
  refused = refuse_preference(query, served);
  if (refused) co_return *std::move(refused);
  auto answer = co_await answer_served(query, served, scatter);
  co_return answer;
}

Answer field_refusal(Query& query, const FieldMistake& mistake) {
  if (mistake.type.empty()) return bad_request(query, 400, mistake.reason);
  query.worker.counters.add(Count::bad_requests);
  return answer_with(
      {.status = 400, .type = mistake.type, .reason = mistake.reason, .code = mistake.code});
}

/// Ends a loop of karmads. The other karmads recognize the type and pass the answer on.
Answer loop_refusal(Query& query) {
  query.worker.counters.add(Count::bad_requests);
  query.worker.counters.add(Count::loops_refused);
  const auto reason = fmt::format(
      "the request has passed {}, more than max_hops = {}: most likely an agent of one of them is "
      "a karmad before it",
      counted_noun(query.request.hops, "karmad"), query.topology->settings.max_hops.value);
  return answer_with({.status = 508, .type = kLoopDetected, .reason = reason});
}

Task<Answer> pass_through(Query& query, const Table& table, Scatter scatter) {
  if (const auto trouble = trouble_with_path(query.request.path); !trouble.empty())
    return completed_task(
        bad_request(query, 400, fmt::format("a path with {} is not passed on", trouble)));
  auto parsed = table.routed->parse(query.request);
  if (!parsed)
    return completed_task(bad_request(query, parsed.error().status, parsed.error().reason));
  if (auto refused = refuse_preference(query, parsed->selection_class()))
    return completed_task(*std::move(refused));
  query.request.parsed = *std::move(parsed);
  return scatter(query, table, *table.routed);
}

/// Answers OPTIONS with the methods of a path (RFC 9110 section 9.3.7).
Answer options_answer(std::string_view methods) {
  Answer answer;
  answer.status = 204;
  answer.allow = methods;
  return answer;
}

/// The answer if the method of the request is OPTIONS or not one of `methods`; nothing if it is one
/// of them.
std::optional<Answer> answer_to_method(Query& query, std::string_view path,
                                       std::string_view methods) {
  query.request.operation = path.substr(1);
  const auto method = query.request.method;
  if (method == methods || allows(methods, method)) return std::nullopt;
  if (method == "OPTIONS") return options_answer(methods);
  auto no = bad_request(query, 405, fmt::format("{} accepts {}, not {}", path, methods, method));
  no.allow = methods;
  return no;
}

/// The first parameter that is not in `known`; nothing: all are.
std::optional<std::string> unknown_parameter(std::string_view parameters, std::string_view known) {
  if (known == kAnyParameters) return std::nullopt;
  // A read preference may be on every request; here it has no effect.
  while (auto parameter = take_parameter(parameters))
    if (parameter->name != kPreferenceParameter && !allows(known, parameter->name))
      return std::move(parameter->name);
  return std::nullopt;
}

/// The refusal of what is kept to the operator; nothing if the client may know it.
std::optional<Answer> kept_to_operator(Query& query, Audience audience) {
  const auto told = query.topology->settings.status_on_query_port.value;
  if (query.client.on_admin_port) return refuse_reader(query);
  if (told == StatusOnQueryPort::yes) return std::nullopt;
  if (told == StatusOnQueryPort::health && audience == Audience::health) return std::nullopt;
  return bad_request(
      query, 403,
      fmt::format("{} is kept to the admin listeners (status_on_query_port)", query.request.path));
}

Task<Answer> answer_own(Query& query, const OwnEndpoint& found) {
  if (auto refused = kept_to_operator(query, found.audience))
    return completed_task(*std::move(refused));
  if (auto answer = answer_to_method(query, found.path, kOwnMethods))
    return completed_task(*std::move(answer));
  if (const auto unknown = unknown_parameter(query.request.query, found.parameters))
    return completed_task(
        bad_request(query, 400,
                    fmt::format("unknown parameter '{}'; {} takes {}", *unknown, found.path,
                                found.parameters.empty() ? "no parameters" : found.parameters)));
  return found.handler(query);
}

Task<Answer> answer_at(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& endpoint = served.endpoint;
  query.request.path = endpoint_path(query.request.path);
  if (auto refused = refuse_preference(query, served)) {
    query.request.operation = endpoint.path.substr(1);
    return completed_task(*std::move(refused));
  }
  if (auto answer = answer_to_method(query, endpoint.path, endpoint.methods))
    return completed_task(*std::move(answer));
  note_path_table(query, served);
  return is_packed(query) ? unpack_and_answer(query, served, scatter)
                          : answer_served(query, served, scatter);
}

const DialectEndpoint* find_endpoint(const DialectKind& kind, std::string_view path) {
  const auto found = std::ranges::find(kind.endpoints, path, &DialectEndpoint::path);
  return found == kind.endpoints.end() ? nullptr : &*found;
}

/// Whether a table of these settings has the dialect whose path it is.
bool is_path_of_a_table(std::string_view path, const Settings& settings, Dialects known) {
  return std::ranges::any_of(settings.tables, [&](const TableSettings& table) {
    const auto* kind = find_dialect(known, table.dialect.value);
    return kind != nullptr && find_endpoint(*kind, path) != nullptr;
  });
}

/// Warns of a route whose first segment is a table with paths of its own: they come first.
void judge_patterns(const TableSettings& routed, const Settings& settings, Dialects known,
                    Problems& notices) {
  for (const auto& table : settings.tables) {
    const auto* kind = find_dialect(known, table.dialect.value);
    if (kind == nullptr || kind->is_routed()) continue;
    if (!route_covers(fmt::format("/{}", table.name), routed.route.value)) continue;
    const auto pattern = std::ranges::find_if(kind->endpoints, [](const DialectEndpoint& endpoint) {
      return endpoint.path.starts_with(fmt::format("/{}/", kTableSegment));
    });
    if (pattern == kind->endpoints.end()) continue;
    notices.push_back(
        {routed.route.at,
         fmt::format("paths such as '/{}{}' are answered by table {}, not by this route",
                     table.name, pattern->path.substr(kTableSegment.size() + 1), table.name),
         Problem::Severity::warning});
  }
}

/// Answers the query again with the current topology (CO-052).
Task<Answer> replan(Query& query, Scatter scatter) {
  query.plan_again = false;
  query.worker.counters.add(Count::planned_anew);
  const auto& current = query.newer_topologies.emplace_front(query.worker.topology());
  query.former = std::exchange(query.topology, current.get());
  return answer(query, scatter);
}

/// Begins the answer to a request; all that it reads before a mirror is asked is read here.
Task<Answer> begin_answer(Query& query, Scatter scatter) {
  if (equals_literal(query.request.path, "*"))
    return completed_task(options_answer("GET, HEAD, POST, OPTIONS"));
  if (is_admin_call(query)) return answer_admin_call(query);
  const auto* const served = query.topology->endpoint_at(query.request.path);
  // Fields of the request about mirrors do not concern an answer about karmad itself.
  if (served == nullptr)
    if (const auto* own = own_endpoint(query)) return answer_own(query, *own);
  if (const auto wrong = read_request_fields(query.request.fields, query.request.query,
                                             query.request.without_preference, query.request))
    return completed_task(field_refusal(query, *wrong));
  if (query.request.hops > query.topology->settings.max_hops.value)
    return completed_task(loop_refusal(query));
  if (served != nullptr) return answer_at(query, *served, scatter);
  if (query.client.on_admin_port) return completed_task(no_queries_here(query));
  query.request.operation = query.request.method;
  if (const auto* table = query.topology->route(query.request.path))
    return pass_through(query, *table, scatter);
  return completed_task(no_such_path(query));
}

}  // namespace

std::string_view trouble_with_path(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    const auto segment = take_until(path, '/');
    if (segment.empty()) return "an empty segment (//)";
    if (const auto trouble = trouble_with_segment(segment); !trouble.empty()) return trouble;
  }
  return {};
}

TicketClass ticket_class_of(Query& query) {
  if (query.client.on_admin_port || is_admin_call(query)) return TicketClass::exempt;
  if (const auto* served = query.topology->endpoint_at(query.request.path)) {
    const auto& endpoint = served->endpoint;
    // A compressed statement is not parsed yet: it counts as a search.
    const bool asks = endpoint.statements != Statements::none && !is_packed(query);
    return asks ? highest_class(query, &sql::StatementText::ticket_class) : endpoint.ticket_class;
  }
  if (own_endpoint(query) != nullptr) return TicketClass::exempt;
  const auto* table = query.topology->route(query.request.path);
  return table == nullptr ? TicketClass::exempt : table->routed->ticket_class(query.request);
}

std::optional<TicketClass> ticket_class_of(const Topology& topology, std::string_view path) {
  if (const auto* served = topology.endpoint_at(path)) {
    if (served->endpoint.statements != Statements::none) return std::nullopt;
    return served->endpoint.ticket_class;
  }
  if (reserved_endpoint_at(path) != nullptr) return TicketClass::exempt;
  return std::nullopt;
}

const Table* table_passed_to(const Topology& topology, std::string_view path) {
  if (topology.endpoint_at(path) != nullptr || reserved_endpoint_at(path) != nullptr)
    return nullptr;
  return topology.route(path);
}

bool is_own_path(std::string_view path, Dialects known) {
  const auto serves_it = [path](const DialectKind* kind) {
    const auto* const found = find_endpoint(*kind, path);
    return found != nullptr && !found->is_shared();
  };
  return is_about_karmad(path) || std::ranges::any_of(known, serves_it);
}

std::vector<std::string> own_paths() {
  std::vector<std::string> paths;
  for (const auto& endpoint : kOwnEndpoints) {
    paths.emplace_back(endpoint.path);
    if (endpoint.has_ids) paths.push_back(std::string(endpoint.path) + "/{id}");
  }
  for (const auto path : kAdminPaths) paths.emplace_back(path);
  return paths;
}

std::optional<Answer> refuse_path(Worker& worker, const Topology& topology, std::string_view path) {
  if (path == "*" || is_admin_path(path) || own_endpoint_at(path) != nullptr ||
      topology.endpoint_at(path) != nullptr || topology.pattern_of(path) != nullptr ||
      topology.route(path) != nullptr)
    return std::nullopt;
  return no_such_path(worker, topology, path);
}

bool is_about_karmad(std::string_view path) {
  return reserved_endpoint_at(path) != nullptr;
}

Judge judge_with(Dialects known) {
  return [known](const Settings& settings, Problems& problems, Problems& notices) {
    // A problem without a place is a file that cannot be read, or is empty.
    const auto is_placed = [](const Problem& problem) { return problem.at.line != 0; };
    if (settings.tables.empty() && std::ranges::all_of(problems, is_placed))
      problems.push_back(
          {{},
           "there is no distributed table: nothing can be searched; add a table with 'type = "
           "distributed' and an agent"});
    Topology::judge(settings, known, problems, notices);
    for (const auto& table : settings.tables) {
      const auto* kind = find_dialect(known, table.dialect.value);
      if (kind == nullptr || !kind->is_routed()) continue;
      if (is_own_path(table.route.value, known) ||
          is_path_of_a_table(table.route.value, settings, known))
        problems.push_back(
            {table.route.at, fmt::format("karmad answers '{}' itself; a route needs another path",
                                         table.route.value)});
      else
        judge_patterns(table, settings, known, notices);
    }
  };
}

void judge(const Settings& settings, Problems& problems, Problems& notices) {
  judge_with(dialects())(settings, problems, notices);
}

Task<Answer> answer(Query& query, Scatter scatter) {
  query.replan = replan;
  try {
    return begin_answer(query, scatter);
  } catch (const std::exception& thrown) {
    return completed_task(bad_request(query, 500, internal_error(thrown).reason));
  }
}

}  // namespace karmad
