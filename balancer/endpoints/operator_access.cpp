#include "balancer/endpoints/operator_access.hpp"

#include <array>

#include "agent/transport/http/http_syntax.hpp"

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

}  // namespace

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

}  // namespace karmad
