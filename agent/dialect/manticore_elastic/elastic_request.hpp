#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// What an Elasticsearch-like request asks for.
enum class ElasticKind : std::uint8_t {
  search,  ///< its answer is written in the Elasticsearch-like form
  count,   ///< likewise
  update,  ///< its answer is that of the engine's own update
};

/// The same request in the engine's own JSON.
struct ElasticRequest {
  ElasticKind kind = ElasticKind::search;
  std::string_view path;  ///< `/search`, `/update`, `/insert`, `/replace` or `/delete`
  std::string body;
};

/// Translates a request to one of the paths `/{table}/_search`, `/_search`, `/{table}/_count`,
/// `/_count`, `/{table}/_update/{id}`, `/{table}/_doc`, `/{table}/_doc/{id}` and
/// `/{table}/_create/{id}`. The table of the path takes the place of one in the body, which must
/// not name another; parameters of the URL take the place of members (url_search.hpp). 400 with the
/// reason if the body is not an object, an id is not a number, or a parameter cannot be read. An
/// empty body is an empty object.
std::expected<ElasticRequest, ClientError> translate_elastic(const ClientRequest& request);

/// Whether the request is `/{table}/_update/{id}`, which can also change texts, as `/update`
/// cannot.
bool is_partial_replacement(const ClientRequest& request);

/// The body of a partial replacement for a mirror: `{"doc":…}`.
void append_partial_replacement(std::string& out, const ClientRequest& request);

}  // namespace karmad
