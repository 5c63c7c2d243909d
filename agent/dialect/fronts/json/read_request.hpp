#pragma once

#include <rapidjson/error/error.h>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/request/parsed.hpp"

namespace karmad {

/// What the parser found at this offset of a text, for the client: "is not JSON: …".
std::string why_not_json(std::string_view text, rapidjson::ParseErrorCode found, std::size_t at);

/// Validates the whole body of a search (RFC 8259, UTF-8, nesting up to `max_depth`) in one pass
/// without building a tree, and finds the properties of SearchRequest. Errors are the client's
/// (400).
OrError<Parsed> read_search(std::string_view body, unsigned max_depth);

/// The same of a request for the completion of a word, which must name its table with `table`.
OrError<Parsed> read_completion(std::string_view body, unsigned max_depth);

/// Reads the body of a request below /pq/{table}: one JSON object (RFC 8259, nesting up to
/// `max_depth`) that names no table beside the one in the path. 400 otherwise.
OrError<Parsed> read_percolation(std::string_view table, std::string_view body, unsigned max_depth);

/// Reads one update to this path (`/replace`): an object with the member `table` or, in the older
/// form, `index`; if both are present, `table` counts, as in the search server. Checks the whole
/// body (RFC 8259, nesting up to `max_depth`) in one iterative pass without a tree, except the
/// encoding of strings, which the mirror checks. Errors are the client's (400; 413 beyond
/// BulkBytes).
OrError<Parsed> read_update(std::string_view path, std::string_view body, unsigned max_depth);

/// Reads a bulk: each line is an object with one member, `insert`, `create`, `replace`, `update` or
/// `delete`, whose value is an update. All lines must name one table, compared without case. Errors
/// name the line, from 1.
OrError<Parsed> read_bulk(std::string_view body, unsigned max_depth);

/// Appends a bulk with `table` in each place that names one.
void append_renamed_bulk(std::string& out, std::string_view body, const BulkSplit& bulk,
                         std::string_view table);

/// Finds the shard of an update of this body, and makes its id where needs_made_id() says so. The
/// error follows the words "the request" or "line 3": the update's text is not UTF-8 (that of one
/// update ends behind the member with the mistake); `mistake`, if it is not empty and several
/// mirrors get updates of the table; what check_shard_known() and check_document_id() say.
std::optional<std::string> place_update(BulkLine& update, std::string_view mistake,
                                        std::string_view body, std::string_view table,
                                        const ShardLayout& layout);

/// Places each line of a bulk. Refuses (400, naming the line) as place_update() does.
OrError<BulkSplit> split_bulk(const BulkRequest& bulk, std::string_view body,
                              std::string_view table, const ShardLayout& layout);

/// Why no new document can be sent to the table, as a text to follow the words "the request" or
/// "line 3"; nothing if it can.
std::optional<std::string> check_shard_known(std::string_view table, const ShardLayout& layout);

}  // namespace karmad
