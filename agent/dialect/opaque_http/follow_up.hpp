#pragma once

#include <string_view>

namespace karmad {

/// Whether a request continues, queries or ends something that an earlier request opened on one
/// mirror: a scroll, a point in time, an asynchronous search, a task, a SQL cursor. Decided by the
/// method and the last path segments, with the names of Elasticsearch, OpenSearch and Groonga. The
/// body is not looked at.
bool is_follow_up(std::string_view method, std::string_view path);

}  // namespace karmad
