#include "balancer/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "agent/dialect/manticore_json/json_text.hpp"
#include "agent/dialect/manticore_sql/statement.hpp"
#include "agent/ping_kinds.hpp"
#include "agent/transport/http_syntax.hpp"
#include "agent/transport/http_write.hpp"
#include "balancer/hello.hpp"
#include "balancer/long_work.hpp"
#include "balancer/readiness.hpp"
#include "balancer/refusal.hpp"
#include "balancer/route_path.hpp"
#include "balancer/status/admission_json.hpp"
#include "balancer/status/rates_json.hpp"
#include "balancer/status/statements.hpp"
#include "balancer/status_answers.hpp"
#include "strategies/read_preference_text.hpp"

namespace karmad {

Answer refusal(int status, std::string_view reason) {
  Answer answer;
  answer.status = status;
  answer.body.append("{\"error\":");
  append_json_quoted(answer.body, reason);
  answer.body.push_back('}');
  return answer;
}

namespace {

enum class What : std::uint8_t {
  banner,
  healthy,
  ready,
  agents,
  hello,
  status,
  admission,
  search,
  sql,
  cli_json,
  cli,
  update,
};

/// How an endpoint's requests choose a mirror (SS-100 … SS-107).
enum class Class : std::uint8_t {
  own,                ///< answered here: no mirror is chosen
  may_use_secondary,  ///< takes a read preference, else the configured one (SS-105)
  write,              ///< the primary; a read preference is an error (SS-100, SS-103)
};

struct Known {
  std::string_view path;
  What endpoint;
  std::string_view methods;  ///< as the field Allow lists them
  Class how = Class::own;
  Subject subject = Subject::exempt;  ///< for SQL: of its searches
};

/// Everything karmad answers itself or understands. What is not here may be the route of a table of
/// dialect `http`; else it is unknown.
constexpr std::array<Known, 22> kEndpoints{{
    {"/", What::banner, "GET, HEAD"},
    {"/healthz", What::healthy, "GET, HEAD"},
    {"/readyz", What::ready, "GET, HEAD"},
    {"/agents", What::agents, "GET, HEAD"},
    {"/hello", What::hello, "GET, HEAD"},
    {"/status", What::status, "GET, HEAD"},
    {"/admission", What::admission, "GET, HEAD"},
    {"/search", What::search, "POST", Class::may_use_secondary, Subject::search},
    {"/json/search", What::search, "POST", Class::may_use_secondary, Subject::search},
    {"/sql", What::sql, "GET, POST", Class::may_use_secondary, Subject::search},
    {"/cli_json", What::cli_json, "GET, POST", Class::may_use_secondary, Subject::search},
    {"/cli", What::cli, "GET, POST", Class::may_use_secondary, Subject::search},
    {"/insert", What::update, "POST", Class::write, Subject::update},
    {"/replace", What::update, "POST", Class::write, Subject::update},
    {"/update", What::update, "POST", Class::write, Subject::update},
    {"/delete", What::update, "POST", Class::write, Subject::update},
    {"/bulk", What::update, "POST", Class::write, Subject::update},
    {"/json/insert", What::update, "POST", Class::write, Subject::update},
    {"/json/replace", What::update, "POST", Class::write, Subject::update},
    {"/json/update", What::update, "POST", Class::write, Subject::update},
    {"/json/delete", What::update, "POST", Class::write, Subject::update},
    {"/json/bulk", What::update, "POST", Class::write, Subject::update},
}};

/// A number that no other endpoint has; of other paths it may be anyone's.
constexpr std::size_t slot_of(std::string_view path) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(path[i]); };
  return (path.size() * 4 + at(path.size() - 1) * 24U + at(path.size() / 2)) % 64;
}

constexpr auto kSlots = [] {
  std::array<const Known*, 64> slots{};
  for (const auto& known : kEndpoints) {
    auto& slot = slots[slot_of(known.path)];
    if (slot != nullptr) throw "two endpoints with one number: choose other factors in slot_of()";
    slot = &known;
  }
  return slots;
}();

/// The endpoint of that path. Asked several times for each request.
const Known* endpoint_at(std::string_view path) {
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

Answer text_json(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

Answer banner() {
  return text_json(200, fmt::format(R"({{"name":"karmad","version":{{"number":"{}"}},)"
                                    R"("tagline":"one mirror of every shard"}})",
                                    KARMAD_VERSION));
}

/// What could not become a query.
Answer bad_request(Query& query, int status, std::string_view reason) {
  query.worker.counters.add(Count::bad_requests);
  return refusal(status, reason);
}
Answer bad_request(Query& query, const ClientError& error) {
  return bad_request(query, error.status, error.reason);
}

/// An answer that is there already.
Task<Answer> at_once(Answer answer) {
  co_return answer;
}

/// Puts what was understood to its table. The tasks of those below are the scatter's own: a frame
/// around it would move the answer once more.
Task<Answer> put(Query& query, const Dialect& dialect, Scatter scatter) {
  const auto* table = query.topology->find(query.parsed.table);
  if (table == nullptr || table->opaque)
    return at_once(bad_request(query, 404,
                               fmt::format("unknown table '{}' in {} request; SHOW TABLES lists "
                                           "those there are",
                                           query.parsed.table, query.operation)));
  return scatter(query, *table, dialect);
}

/// A request that takes long to understand.
Task<Answer> long_json(Query& query, const Dialect& dialect, Scatter scatter) {
  std::expected<Parsed, ClientError> parsed;
  auto parse = [&] { parsed = dialect.parse(query.request); };
  const auto end = co_await run_aside(query, parse);
  if (end != HelperPool::End::done) co_return without_long_work(query, end, Count::bad_requests);
  if (!parsed) co_return bad_request(query, parsed.error());
  query.parsed = *std::move(parsed);
  auto answer = co_await put(query, dialect, scatter);
  co_return answer;
}

/// A search, or an update: that goes to the one mirror that takes it, or nowhere. Spread over
/// shards or copies it would leave them different.
Task<Answer> json(Query& query, const Dialect& dialect, Scatter scatter) {
  if (is_long_work(query, query.request.body.size())) return long_json(query, dialect, scatter);
  auto parsed = dialect.parse(query.request);
  if (!parsed) return at_once(bad_request(query, parsed.error()));
  query.parsed = *std::move(parsed);
  return put(query, dialect, scatter);
}

StatusForm form_of(What endpoint) {
  return endpoint == What::cli ? StatusForm::text : StatusForm::raw;
}

std::expected<AnyStatement, ClientError> read_statement(const ClientRequest& request) {
  const auto text = statement_of(request);
  if (!text) return std::unexpected(text.error());
  return parse_statement(*text);
}

/// A statement that takes long to understand.
Task<Answer> long_sql(Query& query, What endpoint, Scatter scatter) {
  std::expected<AnyStatement, ClientError> statement;
  auto read = [&] { statement = read_statement(query.request); };
  const auto end = co_await run_aside(query, read);
  if (end != HelperPool::End::done) co_return without_long_work(query, end, Count::bad_requests);
  if (!statement) co_return bad_request(query, statement.error());
  if (const auto* ours = std::get_if<StatusStatement>(&*statement)) {
    auto told = co_await statement_answer(query, *ours, form_of(endpoint));
    co_return told;
  }
  if (const auto* unknown = std::get_if<UnknownStatement>(&*statement))
    co_return bad_request(query, 400, unknown->reason);
  auto answer = co_await long_json(query, *query.topology->sql, scatter);
  co_return answer;
}

Task<Answer> sql(Query& query, What endpoint, Scatter scatter) {
  if (is_long_work(query, query.request.body.size())) return long_sql(query, endpoint, scatter);
  const auto read = read_statement(query.request);
  if (!read) return at_once(bad_request(query, read.error()));
  const auto& statement = *read;
  if (const auto* ours = std::get_if<StatusStatement>(&statement))
    return statement_answer(query, *ours, form_of(endpoint));
  if (const auto* unknown = std::get_if<UnknownStatement>(&statement))
    return at_once(bad_request(query, 400, unknown->reason));
  return json(query, *query.topology->sql, scatter);
}

Task<Answer> own(Query& query, What endpoint, Scatter scatter) {
  switch (endpoint) {
    case What::banner:
      return at_once(banner());
    case What::healthy:
      return at_once(text_json(200, R"({"status":"ok"})"));
    case What::ready: {
      auto [ready, body] =
          readiness(*query.topology, query.worker.process, query.worker.loop.index);
      return at_once(text_json(ready ? 200 : 503, std::move(body)));
    }
    case What::agents:
      return agents_answer(query);
    case What::hello:
      return at_once(hello(query));
    case What::status:
      return status_answer(query);
    case What::admission: {
      Answer told;
      append_admission_json(told.body, query.worker, rate_texts(query.worker));
      return at_once(std::move(told));
    }
    case What::update:
      return json(query, *query.topology->update, scatter);
    case What::search:
      return json(query, *query.topology->json, scatter);
    case What::sql:
    case What::cli_json:
    case What::cli:
      return sql(query, endpoint, scatter);
  }
  return at_once(refusal(404, "unknown"));
}

/// The endpoint of ours that is asked, if it is one: `/` gives way to a route.
const Known* known(const Query& query) {
  const auto* found = endpoint_at(query.request.path);
  if (found == nullptr) return nullptr;
  return found->endpoint == What::banner && query.topology->route("/") ? nullptr : found;
}

bool is_sql(What endpoint) {
  return endpoint == What::sql || endpoint == What::cli_json || endpoint == What::cli;
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

/// The request's read preference, from its header or its URL, where the parameter is taken out: it
/// is meant for us. What is wrong with it, if anything.
std::optional<Refusal> take_preference(Query& query) {
  constexpr std::string_view kParameter = "read_preference=";
  const auto refuse = [&query](std::string reason, int code = 0) {
    query.worker.counters.add(Count::bad_requests);
    return Refusal{
        .status = 400, .type = "bad_read_preference", .reason = std::move(reason), .code = code};
  };
  std::string text;
  const bool maybe_named = query.head.names.may_have(kReadPreference);
  for (const auto& field : maybe_named ? query.head.all() : std::span<const Field>()) {
    if (!wire::same_word(field.name, kReadPreference)) continue;
    if (!text.empty()) return refuse("two read preferences in one request");
    text = field.value;
  }
  auto& parameters = query.request.query;
  std::string others;
  const bool maybe_there = parameters.find(kParameter) != parameters.npos;
  bool taken = false;
  for (std::size_t at = 0; maybe_there && at < parameters.size();) {
    const auto end = std::min(parameters.find('&', at), parameters.size());
    const auto parameter = parameters.substr(at, end - at);
    at = end + 1;
    if (!parameter.starts_with(kParameter)) {
      others.append(parameter).push_back('&');
      continue;
    }
    const auto value = url_decoded(parameter.substr(kParameter.size()));
    if (!text.empty() && text != value)
      return refuse("two different read preferences in one request");
    text = value;
    taken = true;
  }
  if (taken) {
    if (!others.empty()) others.pop_back();
    query.without_preference = std::move(others);
    parameters = query.without_preference;
  }
  if (text.empty()) return std::nullopt;
  auto preference = parse_read_preference(text);
  if (!preference) return refuse(std::move(preference.error().why), preference.error().code);
  query.preference = *std::move(preference);
  return std::nullopt;
}

/// What else a request may say of how it is put to mirrors. What is wrong with it, if anything.
std::optional<std::string> take_words(Query& query) {
  if (const auto hedge = query.head.find(kHedge); !hedge.empty()) {
    const auto read = parse_hedge(hedge);
    if (!read) return fmt::format("{}: {}", kHedge, read.error());
    query.hedge = *read;
  }
  if (const auto generation = query.head.find(kMinGeneration); !generation.empty()) {
    std::uint64_t least = 0;
    const auto* end = generation.data() + generation.size();
    const auto [stop, error] = std::from_chars(generation.data(), end, least);
    if (error != std::errc{} || stop != end)
      return fmt::format("{} is a number, not '{}'", kMinGeneration, generation);
    query.min_generation = least;
  }
  if (const auto consistency = query.head.find(kConsistency); !consistency.empty()) {
    if (consistency != "any" && consistency != "quorum")
      return fmt::format("{} is either any or quorum, not '{}'", kConsistency, consistency);
    query.consistency = consistency == "quorum" ? Consistency::quorum : Consistency::any;
  }
  return std::nullopt;
}

/// The methods of a path, without asking for what it answers (RFC 9110 section 9.3.7).
Answer options(std::string_view methods) {
  Answer told;
  told.status = 204;
  told.allow = methods;
  return told;
}

/// Answers at a path of ours, when its method is one that it answers.
Task<Answer> answer_own(Query& query, const Known& found, Scatter scatter) {
  query.operation = found.path.substr(1);
  if (query.request.method == "OPTIONS") return at_once(options(found.methods));
  if (allows(found.methods, query.request.method)) return own(query, found.endpoint, scatter);
  auto no = bad_request(
      query, 405,
      fmt::format("{} answers {}, not {}", found.path, found.methods, query.request.method));
  no.allow = found.methods;
  return at_once(std::move(no));
}

}  // namespace

Subject subject_of(const Query& query) {
  if (const auto* found = known(query)) {
    if (!is_sql(found->endpoint)) return found->subject;
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
  if (found == nullptr || found->endpoint == What::banner || is_sql(found->endpoint))
    return std::nullopt;
  return found->subject;
}

bool is_own_path(std::string_view path) {
  return path != "/" && endpoint_at(path) != nullptr;
}

bool answers_itself(std::string_view path) {
  const auto* found = endpoint_at(path);
  return found != nullptr && found->how == Class::own && found->endpoint != What::banner;
}

Task<Answer> answer(Query& query, Scatter scatter) {
  if (query.request.path == "*") return at_once(options("GET, HEAD, POST, OPTIONS"));
  const auto* const found = known(query);
  // What a request says of mirrors means nothing to an answer about karmad itself.
  if (found != nullptr && found->how == Class::own) return answer_own(query, *found, scatter);
  if (const auto wanted = query.head.find("X-Partial-Results");
      !wanted.empty() && !query.partial_results) {
    return at_once(bad_request(query, 400, "X-Partial-Results is either allow or deny"));
  }
  if (auto wrong = take_preference(query)) return at_once(answer_with(*wrong));
  if (auto wrong = take_words(query)) return at_once(bad_request(query, 400, *wrong));
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

Task<Answer> answer_anew(Query& query, Scatter scatter) {
  query.plan_anew = false;
  query.worker.counters.add(Count::planned_anew);
  query.anew = query.worker.topology();
  query.former = std::exchange(query.topology, query.anew.get());
  return answer(query, scatter);
}

}  // namespace karmad
