#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/endpoints/handlers.hpp"
#include "balancer/operate/admin_call.hpp"

namespace karmad {
namespace {

/// Takes the same time wherever the first difference is.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differences = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differences |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return differences == 0;
}

/// Whether the request has the token of the operator.
bool has_token(const Query& query) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto field = query.request.fields.find("Authorization");
  if (field.size() <= kScheme.size() || !wire::same_word(field.substr(0, kScheme.size()), kScheme))
    return false;
  return same_secret(wire::trimmed(field.substr(kScheme.size())),
                     query.topology->settings.admin_token);
}

Answer token_missing(Query& query) {
  static constexpr std::array kChallenge{Field{"WWW-Authenticate", "Bearer"}};
  auto answer = bad_request(query, 401,
                            "this needs the token of admin_token_file, as Authorization: Bearer "
                            "TOKEN");
  answer.fields = kChallenge;
  return answer;
}

}  // namespace

std::optional<Answer> refuse_reader(Query& query) {
  const auto& client = query.client.address;
  const bool is_local =
      !query.client.is_told && (client.empty() || client.starts_with("127.") || client == "::1");
  if (is_local || query.topology->settings.admin_token.empty() || has_token(query))
    return std::nullopt;
  return token_missing(query);
}

std::optional<Answer> refuse_operator(Query& query) {
  const auto& settings = query.topology->settings;
  if (!query.client.on_admin_port && !settings.admin_on_query_port.value)
    return bad_request(query, 403,
                       "admin calls are accepted only where karmad listens with :admin (or with "
                       "admin_on_query_port = 1)");
  if (!settings.admin_token.empty()) {
    if (!has_token(query)) return token_missing(query);
  } else if (!query.request.fields.find("Origin").empty()) {
    // Any web page that is open in a browser on this host could send it.
    return bad_request(query, 403, "calls of web pages need a token (admin_token_file)");
  }
  return std::nullopt;
}

Answer no_queries_here(Query& query) {
  return bad_request(query, 404,
                     "queries are not answered here: this listener is for the operator (:admin)");
}
namespace {

constexpr char kPrefix[] = "/admin/";
constexpr std::string_view kConfigPath = "/admin/config";
constexpr std::size_t kLongestCall = 64 << 10;

Answer answer_of(AdminResult result) {
  return json_answer(result.status, std::move(result.body));
}

/// Waits for the answer of the desk. `ask` gets the function that delivers it.
template <class Ask>
Task<Answer> wait_for_desk(Query& query, Ask ask) {
  struct Reply {
    AsyncEvent came;
    std::optional<AdminResult> result;
  };
  const auto reply = std::make_shared<Reply>();
  ask([reply, door = query.worker.loop.door()](AdminResult result) mutable {
    door->post([reply, result = std::move(result)]() mutable {
      reply->result = std::move(result);
      reply->came.notify();
    });
  });
  query.waited = true;
  {
    QueryStop stop(query);
    stop.arm(query.resources.deadline, StopReason::deadline);
    const auto guard = stop.calling<&AsyncEvent::notify>(reply->came);
    if (!stop.requested()) co_await reply->came;
  }
  if (reply->result) co_return answer_of(*std::move(reply->result));
  co_return answer_of(admin_error(504, "it is not done yet; see /events for its end"));
}

std::string caller_of(const Query& query) {
  return query.client.address.empty() ? "a unix socket" : std::string(query.client.address);
}

/// 405 unless the request has that method.
std::optional<Answer> refuse_method(Query& query, std::string_view method) {
  if (query.request.method == method) return std::nullopt;
  auto answer = bad_request(
      query, 405,
      fmt::format("{} accepts {}, not {}", query.request.path, method, query.request.method));
  answer.allow = method;
  return answer;
}

Task<Answer> make_call(Query& query, AdminVerb verb) {
  if (query.request.body.size() > kLongestCall)
    return completed_task(bad_request(query, 413, "the body of an admin call has at most 64 KiB"));
  auto call = parse_admin_call(verb, query.request.body);
  if (!call) return completed_task(bad_request(query, 400, call.error()));
  return wait_for_desk(query, [&query, call = *std::move(call)](AdminApi::Done done) {
    query.worker.monitoring.desk->call(call, caller_of(query), std::move(done));
  });
}

}  // namespace

bool is_admin_path(std::string_view path) {
  return starts_with_literal(path, kPrefix) || equals_literal(path, "/reload") ||
         equals_literal(path, "/admin");
}

bool is_admin_call(const Query& query) {
  const auto path = query.request.path;
  if (!is_admin_path(path)) return false;
  return query.client.on_admin_port || query.topology->route(path) == nullptr;
}

Task<Answer> answer_admin_call(Query& query) {
  query.request.operation = query.request.path.substr(1);
  if (auto refused = refuse_operator(query)) return completed_task(*std::move(refused));
  if (query.worker.monitoring.desk == nullptr)
    return completed_task(bad_request(query, 503, "this process takes no admin calls"));
  const auto path = query.request.path;
  if (path == kConfigPath) {
    if (auto refused = refuse_method(query, "GET")) return completed_task(*std::move(refused));
    return wait_for_desk(query, [&query](AdminApi::Done done) {
      query.worker.monitoring.desk->describe(std::move(done));
    });
  }
  constexpr auto kPrefixSize = std::size(kPrefix) - 1;
  const auto verb = path == "/reload"           ? AdminVerb::reload
                    : path.size() > kPrefixSize ? kAdminVerbs.find(path.substr(kPrefixSize))
                                                : std::nullopt;
  if (!verb)
    return completed_task(
        bad_request(query, 404,
                    fmt::format("no admin call {}; there are GET {} and POST {}{{{}}}", path,
                                kConfigPath, kPrefix, fmt::join(kAdminVerbs.all(), ", "))));
  if (auto refused = refuse_method(query, "POST")) return completed_task(*std::move(refused));
  return make_call(query, *verb);
}

}  // namespace karmad
