#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/manticore_json/request.hpp"
#include "agent/dialect/manticore_json/search_merge.hpp"
#include "agent/dialect/manticore_json/vectors/vector_plan.hpp"

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

}  // namespace karmad
