#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/stats/outcome.hpp"

namespace karmad {

struct ResultSet;
struct SelectMeta;

/// What an agent said: the views live as long as its reply buffer.
struct AgentReply {
  int status = 0;
  std::string_view content_type;
  std::string_view body;
  bool whole = true;                       ///< false: `body` is only the beginning
  const ClientRequest* request = nullptr;  ///< the request it answers; null: unknown
};

struct Judgement {
  Outcome outcome = Outcome::wrong_reply;
  std::string message;  ///< the reason, unless `answered` or `cancelled`
  char ends_in = 0;     ///< the required last byte, white space ignored; 0: any
  /// The agent's error text, if the outcome is `agent_error` and the cause is unclear. The same
  /// text from a second agent makes it the client's mistake. Empty: it is the agent's error.
  std::string complaint{};
};

/// The reply of one shard to be merged; `body` is empty when the shard failed.
struct ShardReply {
  std::string_view body;
  std::string_view mirror{};  ///< name of the mirror that gave it; empty: unknown
};

/// How one part of a change ended: the part of a shard, or of one of its mirrors.
struct ChangeReply {
  std::size_t shard = 0;    ///< from 0
  bool done = false;        ///< the mirror carried it out
  int status = 0;           ///< of the mirror's answer; without one 503, or 504 after a timeout
  std::string_view body{};  ///< of the answer; empty: there is none, or it is no dialect's error
  std::string mirror{};     ///< name of the mirror asked last; empty: none was asked
  std::string reason{};     ///< why it is not done, if `body` does not tell
};

/// What the balancer adds to a merged answer.
struct MergeNotes {
  Micros took{};
  bool timed_out = false;      ///< the query to a shard timed out
  std::string_view warning{};  ///< plain text; empty: none
  SelectMeta* meta = nullptr;  ///< gets what is told of the query aside; null: not wanted
  /// Gets the result sets of a SELECT in place of the text of the answer; null: not wanted. They
  /// refer to the replies.
  std::vector<ResultSet>* sets = nullptr;
  std::span<const std::string> tables{};  ///< by shard: each hit gets its own as `_index`
};

/// A reply that merging cannot read, or one that shows that the query has no answer.
struct BadReply {
  std::size_t shard = 0;
  std::string reason;
  /// The client's status where the reply is right, and shows the query to be a mistake: `reason` is
  /// for the client. 0: it cannot be read.
  int status = 0;
};

/// The answer to one of them.
struct PartAnswer {
  int status = 200;
  std::string_view body{};
};

}  // namespace karmad
