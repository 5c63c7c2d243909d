#pragma once

#include <string_view>

namespace karmad {

/// Whether a request continues, asks after, or ends what an earlier request left open on the mirror
/// that got it: the pages, the end or the cancelling of a scroll, a point in time, an asynchronous
/// search, a task or a cursor of SQL. By the method and the last segments of the path, as
/// Elasticsearch, OpenSearch and Groonga name them. What only the body tells is not recognized.
bool is_follow_up(std::string_view method, std::string_view path);

}  // namespace karmad
