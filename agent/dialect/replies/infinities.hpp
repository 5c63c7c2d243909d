#pragma once

#include <cstddef>
#include <forward_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/rows/result_set.hpp"

namespace karmad {

inline constexpr std::string_view kInfinity = "1e999";
inline constexpr std::string_view kMinusInfinity = "-1e999";

/// The body of an answer with 1e999 in the place of the values `inf` and `nan`, which servers write
/// although JSON does not have them, and -1e999 for `-inf`; nothing if there are none. So they are
/// ordered as they are.
std::optional<std::string> without_infinities(std::string_view body);
/// Whether the JSON value is such a number.
bool is_infinity(std::string_view value);
/// Replaces these numbers in the text from offset `begin` of `out` by `null`: JSON readers cannot
/// hold them. `padded`: with spaces up to the width of the number, for tables of text.
void end_infinities(std::string& out, std::size_t begin, bool padded = false);

/// `merge(replies)`, which appends to `out`; once more without infinities if a reply cannot be read
/// for them: a client can compute such values, so no mirror is to blame. `padded` as above. `sets`,
/// if given, gets the result sets in place of a text; the first one then owns the changed replies.
template <class Merge>
std::optional<BadReply> merge_with_infinities(std::span<const ShardReply> replies, std::string& out,
                                              bool padded, Merge merge,
                                              std::vector<ResultSet>* sets = nullptr) {
  auto bad = merge(replies);
  if (!bad) return std::nullopt;
  std::vector<ShardReply> readable(replies.begin(), replies.end());
  std::forward_list<std::string> bodies;
  for (auto& reply : readable)
    if (auto body = without_infinities(reply.body))
      reply.body = bodies.emplace_front(*std::move(body));
  if (bodies.empty()) return bad;
  const auto begin = out.size();
  bad = merge(std::span<const ShardReply>(readable));
  if (!bad) end_infinities(out, begin, padded);
  if (!bad && sets != nullptr && !sets->empty()) {
    auto& made = sets->front().made;
    made.splice_after(made.before_begin(), bodies);
  }
  return bad;
}

}  // namespace karmad
