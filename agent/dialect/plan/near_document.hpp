#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/merge/merge_select.hpp"
#include "agent/dialect/merge/search_merge.hpp"
#include "agent/dialect/plan/search/vector_plan.hpp"
#include "agent/dialect/request/search_request.hpp"
#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// A search by the vector of a document (`knn` by `doc_id`), which the shards are asked for first.
struct SearchNearDocument {
  KnnDocument document;
  std::string_view body;  ///< of the client's request
  SearchRequest request;
  std::size_t shards = 0;
  const DialectSettings* settings = nullptr;
  SearchMerge search;  ///< merges no replies if there is no vector
};

/// Appends the request for the vector, without the table's name; returns the place of that.
std::size_t append_look_up(std::string& out, const KnnDocument& document);

/// The JSON value of the attribute in a reply to the first round, empty if the document has no such
/// attribute; nothing: there is no such document. The error says why the reply cannot be read.
std::expected<std::optional<std::string_view>, std::string> vector_in(
    const SearchNearDocument& step, std::string_view reply);

/// The document whose vector KNN() searches by.
struct SelectedDocument {
  std::string attribute;  ///< with the vector; backquotes included
  std::string id;
};

/// A SELECT with KNN() by the id of a document, whose vector the shards are asked for first.
struct SelectNearDocument {
  SelectedDocument document;
  const SqlSelect* given;  ///< outlives the plan
  SelectPlan select;       ///< merges no replies if there is no vector
};

/// Appends the statement for the vector, without the table's name; returns the place of that.
std::size_t append_look_up(std::string& out, const SelectedDocument& document);

/// The JSON value of the attribute in a reply to the first round, empty if the document has no such
/// attribute; nothing: there is no such document. The error says why the reply cannot be read.
std::expected<std::optional<std::string_view>, std::string> vector_in(
    const SelectNearDocument& step, std::string_view reply);

}  // namespace karmad
