#include "balancer/endpoints/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/dialect/manticore_sql/statement.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/endpoints/handlers.hpp"
#include "balancer/endpoints/packed_body.hpp"
#include "balancer/endpoints/route_path.hpp"

namespace karmad {
namespace {

/// How an endpoint's requests choose a mirror (SS-100 … SS-107).
enum class Class : std::uint8_t {
  own,                ///< answered here: no mirror is chosen
  may_use_secondary,  ///< takes a read preference, else the configured one (SS-105)
  write,              ///< the primary; a read preference is an error (SS-100, SS-103)
};

struct Endpoint {
  std::string_view path;
  std::string_view methods;  ///< as the field Allow lists them
  Handler handler;
  Class how = Class::own;
  Subject subject = Subject::exempt;  ///< of statements: of those that search
  bool statements = false;            ///< its requests are SQL, which says what they are
};

/// Everything karmad answers itself or understands. What is not here may be the route of a table of
/// dialect `http`; else it is unknown. `/` gives way to a route.
constexpr std::array<Endpoint, 22> kEndpoints{{
    {"/", "GET, HEAD", answer_banner},
    {"/healthz", "GET, HEAD", answer_healthy},
    {"/readyz", "GET, HEAD", answer_ready},
    {"/agents", "GET, HEAD", answer_agents},
    {"/hello", "GET, HEAD", answer_hello},
    {"/status", "GET, HEAD", answer_status},
    {"/admission", "GET, HEAD", answer_admission},
    {"/search", "POST", answer_search, Class::may_use_secondary, Subject::search},
    {"/json/search", "POST", answer_search, Class::may_use_secondary, Subject::search},
    {"/sql", "GET, POST", answer_sql, Class::may_use_secondary, Subject::search, true},
    {"/cli_json", "GET, POST", answer_sql, Class::may_use_secondary, Subject::search, true},
    {"/cli", "GET, POST", answer_cli, Class::may_use_secondary, Subject::search, true},
    {"/insert", "POST", answer_update, Class::write, Subject::update},
    {"/replace", "POST", answer_update, Class::write, Subject::update},
    {"/update", "POST", answer_update, Class::write, Subject::update},
    {"/delete", "POST", answer_update, Class::write, Subject::update},
    {"/bulk", "POST", answer_update, Class::write, Subject::update},
    {"/json/insert", "POST", answer_update, Class::write, Subject::update},
    {"/json/replace", "POST", answer_update, Class::write, Subject::update},
    {"/json/update", "POST", answer_update, Class::write, Subject::update},
    {"/json/delete", "POST", answer_update, Class::write, Subject::update},
    {"/json/bulk", "POST", answer_update, Class::write, Subject::update},
}};

/// A number that no other endpoint has; other paths may share it.
constexpr std::size_t slot_of(std::string_view path) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(path[i]); };
  return (path.size() * 4 + at(path.size() - 1) * 24U + at(path.size() / 2)) % 64;
}

constexpr auto kSlots = [] {
  std::array<const Endpoint*, 64> slots{};
  for (const auto& known : kEndpoints) {
    auto& slot = slots[slot_of(known.path)];
    if (slot != nullptr) throw "two endpoints with one number: choose other factors in slot_of()";
    slot = &known;
  }
  return slots;
}();

/// The endpoint of that path. Asked several times for each request.
const Endpoint* endpoint_at(std::string_view path) {
  if (path.empty()) return nullptr;
  const auto* known = kSlots[slot_of(path)];
  return known != nullptr && known->path == path ? known : nullptr;
}

bool allows(std::string_view methods, std::string_view method) {
  for (std::size_t at = 0; at < methods.size();) {
    const auto end = std::min(methods.find(", ", at), methods.size());
    if (methods.substr(at, end - at) == method) return true;
    at = end + 2;
  }
  return false;
}

/// Whether a route of that path is asked instead.
bool gives_way(const Endpoint& endpoint) {
  return endpoint.path == "/";
}

/// A request whose body has to be unpacked before it can be understood.
Task<Answer> unpacked(Query& query, const Endpoint& found, Scatter scatter) {
  auto refused = co_await unpack_body(query);
  if (refused) co_return *std::move(refused);
  auto answer = co_await found.handler(query, scatter);
  co_return answer;
}

/// The endpoint of ours that is asked, if it is one: `/` gives way to a route.
const Endpoint* known(const Query& query) {
  const auto* found = endpoint_at(query.request.path);
  if (found == nullptr) return nullptr;
  return gives_way(*found) && query.topology->route("/") ? nullptr : found;
}

Answer refused(Query& query, const FieldMistake& mistake) {
  if (mistake.type.empty()) return bad_request(query, 400, mistake.reason);
  query.worker.counters.add(Count::bad_requests);
  return answer_with(
      {.status = 400, .type = mistake.type, .reason = mistake.reason, .code = mistake.code});
}

Answer no_preference(Query& query) {
  return bad_request(query, 400,
                     "an update goes to the primary and takes no read preference; leave out "
                     "X-Read-Preference and the parameter read_preference");
}

Task<Answer> pass_through(Query& query, const Table& table, Scatter scatter) {
  if (const auto trouble = trouble_with_path(query.request.path); !trouble.empty())
    return at_once(
        bad_request(query, 400, fmt::format("a path with {} is not passed on", trouble)));
  auto parsed = table.opaque->parse(query.request);
  if (query.preference && !parsed->read) return at_once(no_preference(query));
  query.parsed = *std::move(parsed);
  return scatter(query, table, *table.opaque);
}

/// The methods of a path, without asking for what it answers (RFC 9110 section 9.3.7).
Answer options(std::string_view methods) {
  Answer told;
  told.status = 204;
  told.allow = methods;
  return told;
}

/// Answers at a path of ours, when its method is one that it answers.
Task<Answer> answer_own(Query& query, const Endpoint& found, Scatter scatter) {
  query.operation = found.path.substr(1);
  if (query.request.method == "OPTIONS") return at_once(options(found.methods));
  if (allows(found.methods, query.request.method)) {
    const bool packed = found.how != Class::own && is_packed(query);
    return packed ? unpacked(query, found, scatter) : found.handler(query, scatter);
  }
  auto no = bad_request(
      query, 405,
      fmt::format("{} answers {}, not {}", found.path, found.methods, query.request.method));
  no.allow = found.methods;
  return at_once(std::move(no));
}

}  // namespace

Subject subject_of(const Query& query) {
  if (const auto* found = known(query)) {
    // Of a compressed statement it is not known what it is: it counts as the search that it may be.
    if (!found->statements || is_packed(query)) return found->subject;
    return is_select(query.request) ? found->subject : Subject::exempt;
  }
  const auto* table = query.topology->route(query.request.path);
  if (table == nullptr) return Subject::exempt;
  const auto parsed = table->opaque->parse(query.request);
  if (parsed->follow_up) return Subject::exempt;  // it frees what its mirror holds (AC-005)
  return parsed->read ? Subject::search : Subject::update;
}

std::optional<Subject> subject_of(std::string_view path) {
  const auto* found = endpoint_at(path);
  if (found == nullptr || gives_way(*found) || found->statements) return std::nullopt;
  return found->subject;
}

bool is_own_path(std::string_view path) {
  return path != "/" && endpoint_at(path) != nullptr;
}

bool answers_itself(std::string_view path) {
  const auto* found = endpoint_at(path);
  return found != nullptr && found->how == Class::own && !gives_way(*found);
}

void judge(const Settings& settings, Problems& problems, Problems& notices) {
  Topology::judge(settings, problems, notices);
  for (const auto& table : settings.tables)
    if (table.dialect.value == "http" && is_own_path(table.route.value))
      problems.push_back({table.route.at, fmt::format("karmad answers '{}' itself; a route needs "
                                                      "another path",
                                                      table.route.value)});
}

namespace {

/// The same once more, on the topology of now: a shard is not where it was (CO-052).
Task<Answer> answer_anew(Query& query, Scatter scatter) {
  query.plan_anew = false;
  query.worker.counters.add(Count::planned_anew);
  query.anew = query.worker.topology();
  query.former = std::exchange(query.topology, query.anew.get());
  return answer(query, scatter);
}

}  // namespace

Task<Answer> answer(Query& query, Scatter scatter) {
  query.answer_anew = answer_anew;
  if (query.request.path == "*") return at_once(options("GET, HEAD, POST, OPTIONS"));
  const auto* const found = known(query);
  // What a request says of mirrors means nothing to an answer about karmad itself.
  if (found != nullptr && found->how == Class::own) return answer_own(query, *found, scatter);
  if (const auto wrong =
          read_request_fields(query.head, query.request.query, query.without_preference, query))
    return at_once(refused(query, *wrong));
  if (found != nullptr) {
    if (query.preference && found->how == Class::write) {
      query.operation = found->path.substr(1);
      return at_once(no_preference(query));
    }
    return answer_own(query, *found, scatter);
  }
  query.operation = query.request.method;
  if (const auto* table = query.topology->route(query.request.path))
    return pass_through(query, *table, scatter);
  return at_once(
      bad_request(query, 404, fmt::format("nothing answers '{}' here", query.request.path)));
}

}  // namespace karmad
