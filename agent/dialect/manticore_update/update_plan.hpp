#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/changes/change_plan.hpp"
#include "agent/dialect/manticore_update/update_target.hpp"

namespace karmad {

/// The kinds of updates. `create` is an insert.
enum class UpdateVerb : std::uint8_t { insert, replace, update, remove };

/// Whether an update of this kind makes a document, which belongs to one shard.
constexpr bool makes_document(UpdateVerb verb) {
  return verb == UpdateVerb::insert || verb == UpdateVerb::replace;
}

/// The verb of a path like /insert or /json/delete, or of a line of a bulk; nothing for others.
std::optional<UpdateVerb> update_verb(std::string_view name);

/// Plans one update for the shards of its table: of one document by `shard_by = id`, else all of
/// them. Refuses (400) an insert or replace as place_document() does. `parsed` is of read_update();
/// the request must outlive the plan.
std::expected<std::unique_ptr<FanOut>, ClientError> plan_update(UpdateVerb verb,
                                                                const ClientRequest& request,
                                                                const Parsed& parsed,
                                                                ShardLayout layout);

/// The answer to an update from the answers of the shards and mirrors, with the client's name of
/// the table: counts are added, a part that failed is named. Returns its status.
int merge_update_replies(std::span<const ChangeReply> given, std::string_view table,
                         std::string& out);

/// Why no new document can be sent to the table, as a text to follow the words "the request" or
/// "line 3"; nothing if it can.
std::optional<std::string> check_shard_known(std::string_view table, const ShardLayout& layout);

/// Makes the id of a new document if needs_made_id() says so. Returns why the document cannot be
/// sent, like check_shard_known() and check_document_id().
std::optional<std::string> place_document(UpdateTarget& target, std::string_view table,
                                          const ShardLayout& layout);

}  // namespace karmad
