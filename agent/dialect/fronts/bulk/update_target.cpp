#include "agent/dialect/fronts/bulk/update_target.hpp"

#include <fmt/format.h>

#include "agent/dialect/replies/change_replies.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// Whether an engine may read this key as `id`: in any case, or cut off at a zero byte.
bool may_name_id(std::string_view key) {
  const auto text = json_unescaped(key);
  const std::string_view read(text.c_str());
  return read.size() == 2 && (read[0] | 0x20) == 'i' && (read[1] | 0x20) == 'd';
}

/// Whether a member of the document is its id: then the engine could use that one.
bool doc_names_id(std::string_view doc) {
  if (!is_object(doc)) return false;
  bool found = false;
  visit_members(doc, [&](std::string_view key, std::string_view) {
    found = found || may_name_id(key);
    return true;
  });
  return found;
}

/// Reads the value of `id`; an array names several documents.
std::optional<std::string> take_id(std::string_view value, UpdateTarget& target) {
  target.raw_id = value;
  if (is_array(value) || value == "null") return std::nullopt;
  if (is_string(value)) {
    target.id = DocumentId::of_text(json_unescaped(without_quotes(value)));
  } else {
    target.id = DocumentId::of_number(value);
    if (!target.id)
      return fmt::format("has the id {}; it must be a whole number of 64 bits or a string",
                         shortened_utf8(value));
  }
  return std::nullopt;
}

}  // namespace

std::expected<UpdateTarget, std::string> read_target(std::string_view update) {
  UpdateTarget target;
  target.raw_id = update.substr(std::min(update.find('{'), update.size() - 1) + 1, 0);
  bool has_id = false;
  std::optional<std::string> wrong;
  const bool whole = visit_members(update, [&](std::string_view key, std::string_view value) {
    if (may_name_id(key)) {
      if (!json_says(key, "id")) wrong = fmt::format("has a key {}; write id", shortened_utf8(key));
      if (has_id) wrong = "gives \"id\" twice";
      has_id = true;
      if (!wrong) wrong = take_id(value, target);
    }
    if (json_says(key, "query")) target.by_query = true;
    if (json_says(key, "doc") && doc_names_id(value))
      wrong = "has the id in \"doc\"; give it beside \"doc\", so that its shard is known";
    return !wrong;
  });
  if (wrong) return std::unexpected(*std::move(wrong));
  if (!whole) return std::unexpected("is not JSON in UTF-8");
  return target;
}

std::optional<std::string> check_shard_known(std::string_view table, const ShardLayout& layout) {
  if (layout.shards == 1 || layout.by != ShardBy::none) return std::nullopt;
  return fmt::format(
      "makes a document in table {}, which has {} shards, and karmad does not know to which "
      "shard it belongs; set shard_by = id in the table (the shard is then a hash of the id), or "
      "send it to a table of one shard",
      table, layout.shards);
}

std::optional<std::string> place_document(UpdateTarget& target, std::string_view table,
                                          const ShardLayout& layout) {
  if (auto why = check_shard_known(table, layout)) return why;
  if (auto why = check_document_id(target.id, layout, target.raw_id)) return why;
  if (!needs_made_id(target.id, layout)) return std::nullopt;
  if (is_array(target.raw_id)) return "makes one document with several ids; give one id, or none";
  target.made_id = layout.make_id();
  target.id = DocumentId::of(target.made_id);
  return std::nullopt;
}

}  // namespace karmad
