#include "agent/dialect/manticore_json/vectors/nearest_to_document.hpp"

#include <fmt/format.h>

#include <vector>

#include "agent/dialect/changes/shard_of_id.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

bool starts_number(std::string_view value) {
  return value.front() == '-' || (value.front() >= '0' && value.front() <= '9');
}

}  // namespace

NearestToDocument::NearestToDocument(std::unique_ptr<FanOut> search, std::string attribute,
                                     std::string id, ShardLayout layout)
    : search_(std::move(search)), attribute_(std::move(attribute)), id_(std::move(id)) {
  const auto document = DocumentId::of_number(id_);
  if (layout.by == ShardBy::id && layout.shards > 1 && document)
    shard_of_document_ = document->shard(layout.shards);
}

void NearestToDocument::write(std::size_t shard, std::span<const std::string> tables,
                              std::string& body) const {
  if (has_vector_)
    search_->write(shard, tables, body);
  else
    write_look_up(tables, body);
}

FanOut::NextRound NearestToDocument::begin_next_round(std::span<const ShardReply> replies) {
  if (has_vector_) return false;
  std::string found;
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    const auto value = vector_in(replies[s].body);
    if (!value) return std::unexpected(BadReply{s, value.error()});
    if (!*value) continue;
    auto vector = vector_numbers(**value);
    // The client may have named another attribute: no mirror is blamed.
    if (!vector)
      return std::unexpected(ClientError{
          400, fmt::format("the attribute {} of the document {} is missing or no vector: a list of "
                           "numbers of at most {} bytes",
                           attribute_, id_, kLongestVector)});
    if (found.empty()) found = *std::move(vector);
  }
  if (found.empty()) return false;
  auto search = search_by(found);
  if (!search) return std::unexpected(std::move(search.error()));
  search_ = *std::move(search);
  has_vector_ = true;
  return true;
}

std::optional<FanOut::BadReply> NearestToDocument::merge(std::span<const ShardReply> replies,
                                                         const MergeNotes& notes,
                                                         std::string& out) const {
  if (has_vector_) return search_->merge(replies, notes, out);
  return search_->merge(std::vector<ShardReply>(replies.size()), notes, out);
}

std::optional<std::string> vector_numbers(std::string_view value) {
  if (value == "null") return std::string();
  if (value.size() > kLongestVector) return std::nullopt;
  std::string array(value);
  if (is_string(value)) array = fmt::format("[{}]", json_unescaped(without_quotes(value)));
  std::string numbers;
  JsonCursor json(array);
  JsonElements elements(json);
  while (elements.next()) {
    skip_space(json);
    const auto number = take_value(json);
    if (!number || !starts_number(*number)) return std::nullopt;
    if (!numbers.empty()) numbers += ',';
    numbers += *number;
  }
  skip_space(json);
  if (!elements.complete() || !json.done()) return std::nullopt;
  return numbers;
}

}  // namespace karmad
