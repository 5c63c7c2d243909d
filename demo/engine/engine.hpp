#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/data/index.hpp"
#include "demo/engine/stored_query.hpp"
#include "demo/language/request.hpp"

namespace karmad::demo {

struct HttpRequest {
  std::string method;
  std::string path;   ///< without the query string
  std::string query;  ///< what follows `?`
  std::string body;
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string allow;                                    ///< the allowed methods, with status 405
  std::size_t updates = 0;                              ///< number of accepted updates
  std::string type{"application/json; charset=UTF-8"};  ///< of the body
};

struct Membership;
struct SqlServer;

/// The kind of a request, for the counters and for switches that do not affect all kinds.
enum class Purpose : std::uint8_t { search, sql, ping, update, other };
Purpose purpose_of(std::string_view path);

/// The search server without its sockets: maps a request to an answer. Any thread.
class Engine {
 public:
  /// Whether updates change the catalogue, or are only answered and counted.
  enum class Updates : std::uint8_t { applied, counted };

  /// DESC does not show `hidden_column`, as if this server had another schema.
  Engine(Index index, std::vector<std::string> tables, std::string hidden_column = {},
         Updates updates = Updates::applied)
      : catalogue_(std::make_unique<Catalogue>(std::move(index))),
        tables_(std::move(tables)),
        hidden_column_(std::move(hidden_column)),
        updates_(updates) {}

  /// Adds a table without documents, or one that has only stored queries. Before the first request.
  void add_empty_table(const std::string& name);
  void add_query_table(const std::string& name);

  /// Answers as the member of a mirror set that `membership` describes, at wall time `now_ms`.
  HttpAnswer answer(const HttpRequest& request, const Membership& membership,
                    std::int64_t now_ms) const;
  /// Only while no request is answered.
  const Index& index() const { return catalogue_->index; }

 private:
  /// What updates change. Searches lock it shared, changes exclusively.
  struct Catalogue {
    explicit Catalogue(Index start) : index(std::move(start)) {}
    std::shared_mutex lock;
    Index index;
    const Index empty{{}};
    std::map<std::string, StoredQueries> queries;  ///< by table
  };

  HttpAnswer search(const HttpRequest& request) const;
  HttpAnswer search(std::string_view body) const;
  HttpAnswer autocomplete(std::string_view body) const;
  HttpAnswer update(const HttpRequest& request, const Membership& membership) const;
  HttpAnswer ping(const HttpRequest& request, const Membership& membership,
                  std::int64_t now_ms) const;
  HttpAnswer sql(const HttpRequest& request, const Membership& membership) const;
  enum class SqlLayout : std::uint8_t { hits, raw, text };
  HttpAnswer statements(std::string_view text, SqlLayout layout,
                        const Membership& membership) const;

  SqlServer server(const Membership& membership, Index* changing = nullptr) const;

  std::unique_ptr<Catalogue> catalogue_;
  std::vector<std::string> tables_;
  std::string empty_table_;
  std::string query_table_;
  std::string hidden_column_;
  Updates updates_;
};

HttpAnswer error_answer(int status, std::string_view text);

/// The decoded value of `name` in `a=1&b=2`; empty if it is missing.
std::string parameter(std::string_view query, std::string_view name);

// ---- what answers its paths

/// The answer to a `POST /search` that came at `start`.
std::string answer_search(const Index& index, const SearchRequest& request,
                          std::chrono::steady_clock::time_point start);

/// Whether the path is one for updates: /insert, /replace, /update, /delete, /bulk, and each below
/// /json.
bool is_update(std::string_view path);

/// Makes an update and answers in the search server's format. `index` null: nothing changes, and
/// the answer is that of an update which changed one document. The caller locks the index.
HttpAnswer answer_update(const HttpRequest& request, std::span<const std::string> tables,
                         Index* index);

/// The answer of an agent that does not accept updates.
HttpAnswer not_primary(std::string_view role);

/// A path in the form of Elasticsearch that the search server also has.
struct ElasticPath {
  enum class Verb : std::uint8_t { none, search, msearch, count, doc, create, update, bulk };
  Verb verb = Verb::none;
  std::string table;  ///< empty: the body names it
  std::string id;
};

/// Reads /{table}/_search, /{table}/_msearch, /{table}/_count, /{table}/_doc[/{id}],
/// /{table}/_create/{id}, /{table}/_update/{id} and /{table}/_bulk; the table is optional for
/// _search, _msearch and _bulk.
ElasticPath read_elastic_path(std::string_view path);
bool is_elastic_search(const ElasticPath& path);
bool is_elastic_update(const ElasticPath& path);

/// Answers the body of a `/search`.
using SearchOne = std::function<HttpAnswer(std::string_view body)>;

/// Answers a search, several searches or a count; `search` answers each.
HttpAnswer answer_elastic_search(const ElasticPath& path, const HttpRequest& request,
                                 const SearchOne& search);

/// Makes an update; `index` as in `answer_update`.
HttpAnswer answer_elastic_update(const ElasticPath& path, const HttpRequest& request,
                                 std::span<const std::string> tables, Index* index);

}  // namespace karmad::demo
