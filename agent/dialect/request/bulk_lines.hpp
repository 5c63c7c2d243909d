#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// The kinds of updates. `create` is an insert.
enum class UpdateVerb : std::uint8_t { insert, replace, update, remove };

/// Whether an update of this kind makes a document, which belongs to one shard.
constexpr bool makes_document(UpdateVerb verb) {
  return verb == UpdateVerb::insert || verb == UpdateVerb::replace;
}

/// The verb of a path like /insert or /json/delete, or of a line of a bulk; nothing for others.
std::optional<UpdateVerb> update_verb(std::string_view name);

/// A range of bytes of a bulk; `end` 0: none. Memory grows with the lines, so it has 32 bits:
/// split_bulk() refuses longer bodies.
struct BulkBytes {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  std::string_view in(std::string_view body) const { return body.substr(begin, end - begin); }
};

/// One update of a bulk and its shard.
struct BulkLine {
  static constexpr std::uint32_t kEveryShard = std::numeric_limits<std::uint32_t>::max();

  BulkBytes text;
  BulkBytes table;        ///< the first place that names the table …
  BulkBytes other_table;  ///< … and the second, if there is one
  /// The value of `id`; empty: the place where the member can be put. In a plan none: no single
  /// document.
  BulkBytes id{};
  std::uint64_t made_id = 0;  ///< the id that karmad has made, which belongs at `id`; 0: none
  std::uint32_t shard = kEveryShard;
  std::uint32_t group = 0;   ///< the transaction that the engine makes of it, from 0
  std::uint32_t number = 0;  ///< of the line, from 1; blank ones count
  UpdateVerb verb = UpdateVerb::insert;
  bool by_query = false;

  bool goes_to(std::size_t of) const { return shard == kEveryShard || shard == of; }
  /// The id as a JSON value: the client's or the made one; empty: no single document.
  std::string id_text(std::string_view body) const;
};

/// A bulk split into lines. Those of one group follow each other without a blank line and are no
/// updates of fields; such an update is a group of its own. In the engine a group is a transaction
/// and has one item in the answer.
struct BulkSplit {
  std::vector<BulkLine> lines;
  std::size_t line_count = 0;  ///< as the engine counts them: blank ones and the last one too
};

/// Where a walk through the lines is in the bulk of one shard: there a blank line separates groups.
struct ShardLines {
  std::size_t number = 0;  ///< of the shard's last line, from 1
  std::optional<std::uint32_t> group{};

  /// To the next line of the shard; whether it opens a group.
  bool advance(const BulkLine& line) {
    const bool opens = group != line.group;
    number += group && opens ? 2 : 1;
    group = line.group;
    return opens;
  }
};

/// A made id as the text that belongs at `raw_id`: instead of the value, or as the first member.
std::string made_id_text(std::uint64_t made_id, bool replaces_value);

/// Appends the bulk of one shard, with `table` in each place that names one.
void append_shard_bulk(std::string& out, std::string_view body, const BulkSplit& split,
                       std::size_t shard, std::string_view table);

/// The word of the verb in a bulk.
std::string_view bulk_word(UpdateVerb verb);

}  // namespace karmad
