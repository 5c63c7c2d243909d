#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// A member of a search that the URL gives, in the engine's own JSON.
struct UrlMember {
  std::string_view name;   ///< `query`, `limit`, `offset`, `sort` or `_source`
  std::string_view alias;  ///< the other name that the body may have for it; empty: none
  std::string value;       ///< JSON
};

/// Reads `q`, `size`, `from`, `sort` and `_source` of the parameters of an Elasticsearch-like
/// search; other parameters have no effect, as in the engine. 400 for a value that cannot be read,
/// for one of them given twice, and for `scroll`.
std::expected<std::vector<UrlMember>, ClientError> read_url_search(std::string_view parameters);

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
