#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// A `_bulk` as the engine's own `/bulk`: one line for each action.
struct ElasticBulk {
  std::string table;
  std::string body;
  std::vector<std::string> actions;    ///< of each line: `index`, `create`, `update` or `delete`
  std::vector<std::uint32_t> numbers;  ///< the line of the action in the client's body, from 1
};

/// Whether the request is `/_bulk` or `/{table}/_bulk`.
bool is_elastic_bulk(const ClientRequest& request);

/// Translates a `_bulk`: lines with an action, each but `delete` with a line behind it that is the
/// document, or for `update` `{"doc":{…}}`. `_index` names the table, otherwise the path does; all
/// lines must name one. `_id` is a whole number, also as a string. 400 with the line otherwise.
std::expected<ElasticBulk, ClientError> translate_elastic_bulk(const ClientRequest& request,
                                                               unsigned max_depth);

/// A mistake that names a line of the translated body (`line 3 …`), with the client's line instead.
ClientError at_clients_line(ClientError error, const ElasticBulk& bulk);

}  // namespace karmad
