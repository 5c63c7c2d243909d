#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/parsed.hpp"

namespace karmad {

/// How the names of a mirror's tables are written into a place of a text.
enum class TableNames : std::uint8_t {
  none,        ///< no names belong there
  sql,         ///< `a,b`; in backquotes if a name needs them, or the replaced name has them
  sql_first,   ///< likewise, only the first name
  sql_text,    ///< `'a,b'`
  json,        ///< `"a,b"`
  json_first,  ///< `"a"`: only the first name
};

/// A place of a text that gets other bytes: `text`, or the names of a mirror's tables.
struct TextEdit {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< equal to `begin`: nothing is replaced
  std::string text{};
  TableNames names = TableNames::none;
};

/// Edits of one text, in the order of their places, which do not overlap.
using TextEdits = std::vector<TextEdit>;

/// Most hits or rows that a shard is asked for in order to find the nearest of all shards.
inline constexpr std::size_t kMostNearest = 10'000;

/// The document whose vector a search is by.
struct NearDocument {
  std::string attribute;  ///< with the vector
  std::string id;         ///< its digits
};

/// The edits that put the names of tables into the places of a request's body that name the table;
/// none if no place does.
TextEdits name_edits(const Parsed& parsed, TableNames names);

/// Appends `text` with the edits, for a mirror that names the table `tables`.
void append_edited(std::string& out, std::string_view text, const TextEdits& edits,
                   std::span<const std::string> tables);

/// Appends the names as one JSON string, separated by commas.
void append_json_names(std::string& out, std::span<const std::string> tables);

}  // namespace karmad
