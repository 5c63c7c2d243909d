#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/sql_statement.hpp"

namespace karmad {

/// A statement as engines read it.
struct EngineStatement {
  std::string text;
  /// Where ` ASC` was added: offsets in the client's text, ascending. All other bytes keep theirs.
  std::vector<std::size_t> directions{};
};

/// The statement without its foreign forms, and with ` ASC` behind keys of an ORDER BY without a
/// direction, which engines want; nothing: it is so already. Blanks take the place of the table's
/// alias and of the table's name before a column
/// (`p.price`, `` `p`.`price` ``, `p.*`; with an alias only that, without one the table's own), in
/// any case of letters; COUNT(1) and COUNT(column) become COUNT(*), and COUNT(DISTINCT(x)) loses
/// its inner brackets. The names of character sets before texts are left out (`_binary'x'`).
/// Numbers in quotes lose these where they are compared with the id (`id = '7'`, `id IN ('7')`) and
/// in LIMIT. An INSERT loses the columns for which every row has DEFAULT. `read`: a SELECT or a
/// change; of other statements nothing.
std::optional<EngineStatement> without_foreign_forms(std::string_view statement,
                                                     const SqlStatement& read);

/// Whether `before` says of which character set the text is (`_utf8'x'`), of those that are UTF-8.
bool names_charset(const SqlToken& before, const SqlToken& text);

/// The statement without the name of a schema before its table (`shop.two`, `` `shop`.`two` ``) and
/// before columns of it, in which each remaining byte keeps its offset; nothing: it has none.
std::optional<std::string> without_schema(std::string_view statement);

}  // namespace karmad
