#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// The place of the statement in a request.
struct StatementPlace {
  enum class In : unsigned char {
    body,        ///< the body is the statement
    body_query,  ///< `query=` of an urlencoded body
    url_query,   ///< `?query=` of the URL
    url,         ///< the whole query string (`GET /cli_json?statement`)
  };
  In in = In::body;
  std::string_view encoded;  ///< the bytes of the statement at that place
};

/// Finds the statement of a request to /sql, /cli or /cli_json; 400 if there is none, or more than
/// one.
std::expected<StatementPlace, ClientError> place_of_statement(const ClientRequest& request);

/// The decoded statement of a request to /sql, /cli or /cli_json, without empty ones around it; 400
/// if there is none.
std::expected<std::string, ClientError> statement_of(const ClientRequest& request);

/// The form in which the client wants rows: by the path, and for /sql by `mode=raw` or
/// `raw_response=true` in the URL or the form.
RowForm form_of(const ClientRequest& request);

}  // namespace karmad
