#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_sql/select/sql_span.hpp"

namespace karmad {

/// The server stores counts of rows in 32 bits.
inline constexpr std::size_t kLargestRowCount = std::numeric_limits<std::int32_t>::max();

/// LIMIT: the rows that the client wants.
struct RowWindow {
  std::size_t offset = 0;
  std::size_t limit = 20;  ///< the server's default

  /// The number of rows up to the last one wanted.
  std::size_t end() const { return offset + limit; }
};

struct FacetClause {
  SqlSpan items;
  SqlSpan by;
  SqlSpan distinct;
  SqlSpan order;
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

/// The clauses of a SELECT, without their keywords. Spans refer to `tokens`,
/// which moves with them; all views refer to the statement.
struct SelectClauses {
  SelectClauses() = default;
  SelectClauses(SelectClauses&&) = default;
  SelectClauses& operator=(SelectClauses&&) = default;

  std::vector<SqlToken> tokens;  ///< without those of WHERE, which may be very many
  SqlSpan items;
  SqlSpan tables;
  std::string_view where;
  bool match = false;  ///< WHERE has a MATCH()
  bool knn = false;    ///< WHERE has a KNN()
  /// How many documents it finds in each shard, up to kLargestRowCount; 0: unknown.
  std::size_t nearest = 0;
  std::optional<KnnByDocument> knn_document;  ///< KNN() names a document in place of a vector
  SqlSpan group;
  std::size_t per_group = 1;
  SqlSpan within;
  SqlSpan having;
  SqlSpan order;
  RowWindow window;
  SqlSpan options;
  std::vector<FacetClause> facets;
};

/// Splits a statement. Refuses, with the offset, what is not one SELECT with its
/// clauses in the server's order, and names that begin with `karmad_`, which are used for the
/// shards.
std::expected<SelectClauses, ClientError> split_select(std::string_view statement);

}  // namespace karmad
