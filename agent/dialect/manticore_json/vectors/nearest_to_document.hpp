#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "agent/dialect/dialect.hpp"

namespace karmad {

// A search for the documents nearest to one document of the table has two rounds: the first reads
// that document's vector, the second searches by the vector. If there is no such document, or it
// has no vector, nothing is found, as in the search server.

/// The numbers of a vector, with commas between them, as they stand in the JSON `value`: an array,
/// or a string of numbers. Empty for a document without a vector. Nothing: it is no vector, or
/// longer than kLongestVector bytes.
std::optional<std::string> vector_numbers(std::string_view value);
/// Every shard gets the vector: longer ones than any model makes are refused.
inline constexpr std::size_t kLongestVector = 1 << 20;

/// The JSON value of the attribute in a reply to the first round, empty if the document has no such
/// attribute; nothing: there is no such document. The error says why the reply cannot be read.
using VectorInReply = std::expected<std::optional<std::string_view>, std::string>;
using DocumentVector = std::expected<std::string, std::variant<BadReply, ClientError>>;

/// The refusal of an attribute that is missing or no vector. The client may have named another one:
/// no mirror is blamed.
ClientError no_vector(std::string_view attribute, std::string_view id);

/// The numbers of the vector in the replies; empty: there is none. `vector_in(reply)` gives a
/// VectorInReply.
template <class VectorIn>
DocumentVector find_vector(std::span<const ShardReply> replies, std::string_view attribute,
                           std::string_view id, VectorIn vector_in) {
  std::string found;
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    const VectorInReply value = vector_in(replies[s].body);
    if (!value) return std::unexpected(BadReply{s, value.error()});
    if (!*value) continue;
    auto vector = vector_numbers(**value);
    if (!vector) return std::unexpected(no_vector(attribute, id));
    if (found.empty()) found = *std::move(vector);
  }
  return found;
}

}  // namespace karmad
