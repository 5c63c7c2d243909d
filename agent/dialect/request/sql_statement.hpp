#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "agent/dialect/request/sql_tokens.hpp"

namespace karmad::sql {

/// The server stores counts of rows in 32 bits.
inline constexpr std::size_t kLargestRowCount = std::numeric_limits<std::int32_t>::max();

/// LIMIT: the rows that the client wants.
struct RowWindow {
  std::size_t offset = 0;
  std::size_t limit = 20;  ///< the server's default

  /// The number of rows up to the last one wanted.
  std::size_t end() const { return offset + limit; }
};

/// Each facet is a result set of every shard.
inline constexpr std::size_t kMostFacets = 256;

struct FacetClause {
  Span items;
  Span by;
  Span distinct;
  Span order;
  RowWindow window;
};

/// `KNN(attribute, k, id)`: a search by the vector of a document. The views are into the statement.
struct KnnByDocument {
  std::size_t at = 0;  ///< offset of the id
  std::string_view attribute;
  std::string_view k;  ///< empty: not given
  std::string_view id;
  std::string_view end;  ///< the closing bracket
};

/// What an engine does not read, but other servers of SQL do.
struct ForeignForms {
  std::string alias{};       ///< of the table, `FROM t AS alias`; empty: none
  ByteRange alias_place{};   ///< in the statement, AS included
  bool charsets = false;     ///< `_binary'text'`
  bool may_be_more = false;  ///< one of the other forms that without_foreign_forms() removes

  bool any() const { return may_be_more || charsets || !alias.empty(); }
};

/// A KNN() in WHERE.
struct NearestClause {
  bool knn = false;  ///< there is one
  /// How many documents it finds in each shard, up to kLargestRowCount; 0: unknown.
  std::size_t nearest = 0;
  std::optional<KnnByDocument> knn_document;  ///< it names a document in place of a vector
};

/// GROUP n BY, WITHIN GROUP ORDER BY and HAVING.
struct GroupClauses {
  Span group;
  std::size_t per_group = 1;
  Span within;
  Span having;
};

/// A SELECT: its tables and plain options, and its clauses without their keywords. Spans refer to
/// `tokens`, which moves with them; all views refer to the statement.
struct Select : NearestClause, GroupClauses {
  Select() = default;
  Select(Select&&) = default;
  Select& operator=(Select&&) = default;

  std::string_view text;  ///< of the statement
  std::string table;      ///< several: their names with commas between them; empty: no FROM
  ByteRange table_place;  ///< in the statement, backquotes included
  ForeignForms foreign;
  QueryOptions options;
  std::string_view scroll;  ///< the value of OPTION scroll; empty: it is not given
  /// Why it cannot be planned for shards, though it can be passed on to one: the first reason in
  /// the statement, with its offset. The clauses are not complete then.
  MaybeError unplannable;

  std::vector<Token> tokens;  ///< without those of WHERE, which may be very many
  Span items;
  std::string_view where;
  bool match = false;  ///< WHERE has a MATCH()
  Span order;
  RowWindow window;
  Span option_list;
  std::vector<FacetClause> facets;

  /// `SELECT * FROM (this one) ORDER BY … LIMIT …`: the outer SELECT, of which only these two
  /// clauses count. Null: there is none.
  std::shared_ptr<const Select> outer;
  /// What the views of both refer to then, with all offsets of the statement.
  std::shared_ptr<const std::pair<std::string, std::string>> own_texts;
};

/// What is read of INSERT, REPLACE, UPDATE or DELETE. Offsets are of the statement; the rest is
/// passed on as it is.
struct ChangeStatement {
  enum class Verb : std::uint8_t { insert, replace, update, remove };
  /// The values of one document, parentheses included.
  struct Row {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::optional<DocumentId> id{};
    /// The value of the id; empty: where it can be put in, with a comma behind it.
    ByteRange id_place{};
    std::uint64_t made_id = 0;  ///< the id that karmad has made; 0: none
  };

  Verb verb = Verb::insert;
  std::string table;
  ByteRange table_place;  ///< backquotes included
  ForeignForms foreign;
  std::size_t columns_begin = 0;  ///< of a list of columns without `id`; 0: there is none
  std::vector<Row> rows;          ///< of VALUES; empty: another form
  std::optional<DocumentId> id;   ///< of UPDATE, DELETE … WHERE id = N and no other condition
  /// Why the ids of an INSERT or REPLACE are not known; empty: each row has one, or has none and
  /// can get one.
  std::string trouble;

  bool makes_documents() const { return verb == Verb::insert || verb == Verb::replace; }
  /// The id of the last row, made by karmad or given in a form that the engine keeps; 0: neither.
  std::uint64_t last_row_id() const {
    return rows.empty() || !rows.back().id ? 0 : rows.back().id->kept_number();
  }
};

/// The procedures of the search server that read a table.
enum class CallKind : std::uint8_t { pq, suggest, qsuggest, keywords, snippets, autocomplete };

/// `value AS name`, or `value name`. Offsets in the statement, quotes included.
struct CallOption {
  std::string name;  ///< in lower case
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A statement `CALL procedure('…', 'table', 5 AS limit)`. The table is the first argument of PQ
/// and the second of the others.
struct CallStatement {
  CallKind kind = CallKind::keywords;
  std::string table;
  ByteRange table_place;  ///< the argument that names it, quotes included
  std::vector<CallOption> options;
  std::size_t arguments_end = 0;  ///< of the bracket that ends the arguments

  const CallOption* option(std::string_view name) const;
};

/// A SHOW that mirrors answer.
struct ShowStatement {
  enum class Object : std::uint8_t {
    create_table,    ///< SHOW CREATE TABLE t
    table_status,    ///< SHOW TABLE t STATUS
    table_settings,  ///< SHOW TABLE t SETTINGS
    query_tree,      ///< EXPLAIN QUERY t 'query'
    threads,         ///< SHOW THREADS
    server,          ///< SHOW SETTINGS, SHOW VARIABLES, CALL UUID_SHORT
  };
  Object object = Object::server;
  std::string table{};  ///< empty: it names none
  ByteRange table_place{};
};

/// An assignment of SET.
struct SessionSetting {
  /// In lower case, without `@@` and its scope; a variable of the client has its `@`. `names` of
  /// SET NAMES and SET CHARACTER SET, `transaction` of SET SESSION TRANSACTION.
  std::string name;
  std::string_view value;  ///< the expression: a view into the statement

  bool operator==(const SessionSetting&) const = default;
};

/// A statement about the client's connection: about the query before it, its variables and
/// transactions. Over HTTP, those about variables and transactions change nothing.
struct SessionStatement {
  enum class Is : std::uint8_t {
    nothing,    ///< is answered as done, and changes nothing
    set,        ///< SET: `settings`
    begin,      ///< BEGIN, START TRANSACTION
    commit,     ///< COMMIT
    rollback,   ///< ROLLBACK
    undo,       ///< ROLLBACK TO SAVEPOINT: the transaction continues
    kill,       ///< KILL: `connection`
    meta,       ///< SHOW META
    warnings,   ///< SHOW WARNINGS
    scroll,     ///< SHOW SCROLL: the token of the last SELECT
    inspected,  ///< SHOW PLAN, SHOW PROFILE: `text` names it
    use,        ///< USE: `text` is the name, or empty
  };
  Is is = Is::nothing;
  std::string text{};
  std::optional<std::string> like{};  ///< pattern for the first column
  std::vector<SessionSetting> settings{};
  bool read_only = false;        ///< begin: READ ONLY
  bool chain = false;            ///< commit, rollback: another transaction begins (AND CHAIN)
  std::uint64_t connection = 0;  ///< kill: its number
  bool statement_only = false;   ///< kill: QUERY, the connection continues

  bool operator==(const SessionStatement&) const = default;
};

enum class Show : std::uint8_t {
  agent_status,
  agent,   ///< SHOW AGENT name STATUS
  agents,  ///< one row per mirror
  tables,
  table,  ///< DESC name
  status,
  version
};

/// A statement about karmad itself.
struct StatusStatement {
  Show show = Show::agent_status;
  std::string name;                 ///< Show::agent: table or address; Show::table: the table
  std::optional<std::string> like;  ///< pattern for the first column

  bool operator==(const StatusStatement&) const = default;
};

/// What engines get behind a key of an ORDER BY without a direction.
inline constexpr std::string_view kAddedDirection = " ASC";

/// A statement, read once. Refers to its text.
using Statement = std::variant<Select, ChangeStatement, CallStatement, ShowStatement,
                               SessionStatement, StatusStatement>;

/// What a statement asks for, by its first words.
enum class StatementKind : std::uint8_t {
  empty,           ///< blanks and comments
  select,          ///< SELECT
  insert,          ///< INSERT, REPLACE
  change,          ///< UPDATE, DELETE
  call,            ///< CALL
  show,            ///< a SHOW that mirrors answer
  session,         ///< about the connection: SHOW META, SET, USE, COMMIT …
  status,          ///< another SHOW, DESC: about karmad
  schema,          ///< as tools ask MySQL: SHOW COLUMNS, SELECT … FROM information_schema …
  administration,  ///< changes a server or its tables: DROP, CREATE …
  unknown
};

/// The kind of a statement: the only classifier. Reads a few words of a text of any length; of a
/// SELECT of up to kLongestSchemaStatement bytes what precedes its first table.
StatementKind kind_of_statement(std::string_view statement);

/// Which mirrors a statement may use. What lists or describes tables and servers should use the
/// primary and takes no read preference, also where karmad answers it itself.
SelectionClass selection_class_of(StatementKind kind, std::string_view statement);

/// Reads a statement of that kind, in one pass by the grammar sql_grammar.y. Refuses (400), with
/// the offset, what is no such statement, what engines read differently (Tokens), and what a
/// statement to one table cannot have: joins, sub-selects, further statements. Any thread; cost:
/// linear in the text, memory for the tokens outside of WHERE and of VALUES, which have bounds.
OrError<Statement> read_statement(std::string_view statement, StatementKind kind);
inline OrError<Statement> read_statement(std::string_view statement) {
  return read_statement(statement, kind_of_statement(statement));
}

/// The error of a statement that is not known: what is wrong, its beginning, the known statements.
ClientError unknown_statement(std::string_view statement,
                              std::string_view problem = "unknown statement");

/// The statement as one of type T: Select, ChangeStatement …; 400 if it is another one.
template <class T>
OrError<T> read_as(std::string_view statement, StatementKind kind) {
  auto read = read_statement(statement, kind);
  if (!read) return std::unexpected(std::move(read.error()));
  return std::get<T>(*std::move(read));
}

}  // namespace karmad::sql
