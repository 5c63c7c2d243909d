#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// The part of an endpoint's pattern that stands for a table, or for a list of tables.
inline constexpr std::string_view kTableSegment = "{table}";

/// Length of the longest text for a table in a path, in encoded form; a longer one matches nothing.
inline constexpr std::size_t kMaxTableSegment = 4096;

/// True for the path of an endpoint that stands for several paths: a segment `{name}` of it stands
/// for any segment that is not empty.
constexpr bool is_pattern(std::string_view path) {
  return path.find('{') != std::string_view::npos;
}

/// Takes the first segment, and the slash before it, off a path, which must not be empty.
std::string_view take_segment(std::string_view& path);

/// Whether `path` has as many segments as `pattern` and the same ones, `{name}` left aside.
bool matches_pattern(std::string_view pattern, std::string_view path);

/// The segment of `path`, as received, that stands where `pattern` has `segment` (`{id}`). Empty:
/// the pattern has none. `path` must match the pattern.
std::string_view pattern_segment(std::string_view pattern, std::string_view path,
                                 std::string_view segment);

/// The name or list of names in a segment of a path, URL-decoded. Nothing if the segment cannot be
/// one: it is too long, has an invalid escape, or a character that no name has (a control
/// character, a slash, a quote, white space …).
std::optional<std::string> decoded_tables(std::string_view segment);

/// Where Solr, Elasticsearch and OpenSearch take updates, also below these paths.
inline constexpr std::array<std::string_view, 9> kUpdatePaths{
    "/solr/{core}/update",
    "/{index}/_doc",
    "/{index}/_update",
    "/{index}/_create",
    "/{index}/_bulk",
    "/_bulk",
    "/{index}/_update_by_query",
    "/{index}/_delete_by_query",
    "/_reindex",
};

/// A path of updates of a known engine that `pattern`, a path of `reads` in the mirrors' terms,
/// covers: with `{name}` for a segment that may be any. Empty: there is none.
std::string_view update_path_in(std::string_view pattern);

}  // namespace karmad
