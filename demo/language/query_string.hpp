#pragma once

#include <string_view>

#include "demo/data/complaint.hpp"
#include "demo/language/query.hpp"

namespace karmad::demo {

/// Reads the search language of `query_string` and `MATCH('…')`: words (all wanted), `|`, `-word`
/// or `!word`, "a phrase", (groups), `@title` and `@(title,body)` in front of the words they limit.
/// `table` is named in the complaint.
Query read_query_string(std::string_view text, std::string_view table, Complaint& complaint);

/// The text fields called "title", "body", "title,body", "*" or "_all".
Fields read_fields(std::string_view names, std::string_view table, Complaint& complaint);

}  // namespace karmad::demo
