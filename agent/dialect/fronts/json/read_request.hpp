#pragma once

#include <expected>
#include <string_view>

#include "agent/dialect/request/parsed.hpp"

namespace karmad {

/// A fast reader for common search requests: ASCII JSON without escapes, numbers of up to 18 digits
/// without exponent, none of karmad's `options`, depth at most 32. False for all other texts,
/// malformed ones included: `request` is then undefined, and the whole parser must read the
/// text. On true both give the same result; this one costs a third.
bool read_plain_request(std::string_view body, unsigned max_depth, SearchRequest& request);

/// Validates the whole body of a search (RFC 8259, UTF-8, nesting up to `max_depth`) in one pass
/// without building a tree, and finds the properties of SearchRequest. Errors are the client's
/// (400).
std::expected<Parsed, ClientError> read_search(std::string_view body, unsigned max_depth);

/// The same of a request for the completion of a word, which must name its table with `table`.
std::expected<Parsed, ClientError> read_completion(std::string_view body, unsigned max_depth);

/// Reads the body of a request below /pq/{table}: one JSON object (RFC 8259, nesting up to
/// `max_depth`) that names no table beside the one in the path. 400 otherwise.
std::expected<Parsed, ClientError> read_percolation(std::string_view table, std::string_view body,
                                                    unsigned max_depth);

}  // namespace karmad
