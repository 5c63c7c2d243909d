#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/document_ids.hpp"

namespace karmad {

/// Whether a new document gets its id from karmad (`layout.make_id`): it has none, and the shard or
/// several mirrors depend on it. In all other tables the engine makes the id.
bool needs_made_id(const std::optional<DocumentId>& id, const ShardLayout& layout);

/// Why a new document cannot have this id, as a text to follow the words "the request" or "line 3"
/// (`shown`: the id as the client wrote it); nothing if it can, or has none. Where the shard or
/// several mirrors depend on the id it must be one that the engine keeps.
std::optional<std::string> check_document_id(const std::optional<DocumentId>& id,
                                             const ShardLayout& layout, std::string_view shown);

/// What became of a change in one shard: it is done only if all its mirrors that were asked have
/// done it.
struct ShardEnd {
  std::size_t shard = 0;
  std::size_t parts = 0;
  std::size_t done = 0;
  const ChangeReply* answer = nullptr;   ///< the first mirror's that did it; null: none did
  const ChangeReply* refusal = nullptr;  ///< the first error answer; null: there is none
  bool failed() const { return done < parts; }
};

/// The ends of the shards that were asked, in their order.
std::vector<ShardEnd> shard_ends(std::span<const ChangeReply> replies);

/// Turns replies that `reads` cannot read into failed ones: such an answer does not tell what was
/// changed.
std::vector<ChangeReply> checked(std::span<const ChangeReply> replies,
                                 const std::function<bool(std::string_view body)>& reads);

/// The refusal, if no part is done and every mirror refused the change as the client's mistake.
const ChangeReply* common_refusal(std::span<const ChangeReply> replies);

/// Why a part failed, in at most some hundred bytes: the reason, or the text of its error body.
std::string failure_text(const ChangeReply& reply);
/// All failures in a line: `shard 2: agent 10.0.0.1:9308: connection refused; …`.
std::string failures_line(std::span<const ChangeReply> replies);

/// Appends the answer to a change that failed in part, or everywhere for different reasons:
/// `{"error":{"type":"update_incomplete","reason":…,"failed":[…],"changed":…},"status":500}`.
/// `changed`: JSON of what the other shards and mirrors did; empty: nothing. Returns the status.
int append_incomplete(std::string& out, std::span<const ChangeReply> replies,
                      std::string_view changed);

}  // namespace karmad
