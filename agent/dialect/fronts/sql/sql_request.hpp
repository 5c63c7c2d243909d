#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/sql_statement.hpp"

namespace karmad::sql {

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

struct StatementList;

/// A statement of a request, with what its first words say. The views live as long as the request,
/// or as `owner`.
struct StatementText {
  std::string_view text;
  StatementKind kind = StatementKind::unknown;
  RowForm form = RowForm::raw;
  StatementPlace place;
  std::shared_ptr<const Statement> read{};       ///< null: it was not read yet
  std::shared_ptr<const StatementList> owner{};  ///< has the text; null: the request has it
  /// As the client wrote it, where `text` is without its foreign forms; else null.
  std::shared_ptr<const StatementText> given{};
  /// Where `text` has ` ASC` and the client's text has not: offsets there, ascending.
  std::vector<std::size_t> directions{};

  TicketClass ticket_class() const;
  /// Whether mirrors answer it; others are about karmad or the connection.
  bool is_of_mirrors() const { return ticket_class() != TicketClass::exempt; }
  SelectionClass selection_class() const { return selection_class_of(kind, text); }
};

/// The statements of a request to /sql, /cli or /cli_json, or of a command of a MySQL client: found
/// and classified once, when the request arrives.
struct StatementList {
  StatementList() = default;
  StatementList& operator=(StatementList&&) = delete;

  std::string decoded;  ///< the text, where the request has it in another encoding
  std::vector<StatementText> statements;
  /// Why none of them is carried out, although their classes are known. 501: a change at /sql
  /// without `mode=raw`.
  MaybeError refused{};
};

/// The aliases in the list of a SELECT that have capitals, as the client wrote them: engines lower
/// all names. Of other statements, and of one that was not read, none.
std::vector<std::string> aliases_with_capitals(const StatementText& statement);

/// Most statements in one request.
inline constexpr std::size_t kMostStatements = 64;

/// Finds the statements of a request. 400: there is none, or another one in the URL; the text is
/// not UTF-8, or its statements end where engines differ; more than kMostStatements. Reads
/// two words of each statement; of several statements all tokens.
OrError<std::shared_ptr<const StatementList>> read_statements(const ClientRequest& request);

/// The statement of a request that is one statement: ClientRequest::statement, or else what the
/// request has, unsplit.
OrError<StatementText> statement_in(const ClientRequest& request);

/// Where the first bytes are that are not UTF-8; npos: nowhere.
std::size_t first_wrong_bytes(std::string_view text);

/// Splits a text at each `;` outside of quotes, backquotes and comments; blank statements are left
/// out. A text without `;` before its end is one statement, unread. Errors as read_statements().
OrError<std::vector<std::string_view>> split_statements(std::string_view text);

/// The text without the blanks and `;` before and behind its statements: a view into it.
std::string_view without_empty_statements(std::string_view text);

/// The form in which the client wants rows: by the path, and for /sql by `mode=raw` or
/// `raw_response=true` in the URL or the form.
RowForm form_of(const ClientRequest& request);

}  // namespace karmad::sql
