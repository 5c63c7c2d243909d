#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/parsed.hpp"

namespace karmad {

/// Translates a request to one of the paths `/{table}/_search`, `/_search`, `/{table}/_count`,
/// `/_count`, `/{table}/_update/{id}`, `/{table}/_doc`, `/{table}/_doc/{id}`,
/// `/{table}/_create/{id}`, `/_bulk` and `/{table}/_bulk` into the engine's own JSON.
///
/// The table of the path takes the place of one in the body, which must not name another. Of a
/// search the parameters `q`, `size`, `from`, `sort` and `_source` of the URL take the place of
/// members; others have no effect, as in the engine. An empty body is an empty object. A bulk has
/// lines with an action, each but `delete` with a line behind it that is the document, or for
/// `update` `{"doc":{…}}`; `_index` names the table, otherwise the path does; `_id` is a whole
/// number, also as a string.
///
/// 400 with the reason, of a bulk with the line: the body is not an object, an id is not a number,
/// a parameter cannot be read or is given twice, or is `scroll` or `source`; lines name different
/// tables.
OrError<TranslatedRequest> translate_elastic(const ClientRequest& request);

/// A mistake that names a line of the translated bulk (`line 3 …`), with the client's line instead.
ClientError at_clients_line(ClientError error, const TranslatedRequest& bulk);

/// Most searches in one `_msearch`.
inline constexpr std::size_t kMostSearches = 100;

/// The searches of a `_msearch`: pairs of lines, a header `{"index":"a"}`, `{"index":["a","b"]}` or
/// `{}` (then the path's table, or all), and the body of a search. 400 with the line otherwise.
OrError<std::vector<RequestPart>> read_multi_search(const ClientRequest& request);

/// Appends `{"took":…,"responses":[…]}`: the searches' answers in order, each with its `status`; or
/// the parts of it that the parameter `filter_path` of the URL names.
void append_responses(std::string& out, const ClientRequest& request,
                      std::span<const PartAnswer> answers, Micros took);

}  // namespace karmad
