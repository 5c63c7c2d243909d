#include "agent/dialect/manticore_update/update_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/dialect/changes/body_edit.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"
#include "agent/dialect/manticore_update/update_counts.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

class UpdatePlan final : public ChangePlan {
 public:
  UpdatePlan(const ClientRequest& request, const Parsed& parsed, const UpdateTarget& target,
             std::optional<std::size_t> only)
      : body_(request.body), parsed_(parsed), only_(only) {
    if (target.made_id == 0) return;
    made_id_ = made_id_text(target.made_id, !target.raw_id.empty());
    id_.begin = static_cast<std::size_t>(target.raw_id.data() - body_.data());
    id_.end = id_.begin + target.raw_id.size();
  }

  bool asks(std::size_t shard) const override { return !only_ || *only_ == shard; }

  void write(std::size_t, std::span<const std::string> tables, std::string& body) const override {
    std::string table;
    JsonLine(table).add_quoted(tables.front());
    std::array edits{BodyEdit{{parsed_.table_begin, parsed_.table_end}, table},
                     BodyEdit{{parsed_.other_begin, parsed_.other_end}, table},
                     BodyEdit{id_, made_id_}};
    append_edited(body, body_, {0, body_.size()}, edits);
  }

  int merge_changes(std::span<const ChangeReply> replies, std::string& out) const override {
    return merge_update_replies(replies, parsed_.table, out);
  }

 private:
  std::string_view body_;
  Parsed parsed_;
  std::optional<std::size_t> only_;
  ByteRange id_;  ///< where `made_id_` belongs; none: karmad has made no id
  std::string made_id_;
};

std::unexpected<ClientError> update_refused(std::string reason) {
  return std::unexpected(ClientError{400, fmt::format("the request {}", reason)});
}

}  // namespace

int merge_update_replies(std::span<const ChangeReply> given, std::string_view table,
                         std::string& out) {
  if (const auto* refusal = common_refusal(given)) {
    out.append(with_table(refusal->body, table).value_or(std::string(refusal->body)));
    return refusal->status;
  }
  const auto replies = checked(given, is_update_answer);
  std::vector<std::string_view> bodies;  // of one mirror of each shard
  int status = 200;
  for (const auto& end : shard_ends(replies)) {
    if (end.answer == nullptr) continue;
    bodies.push_back(end.answer->body);
    status = end.answer->status;
  }
  const auto merged = bodies.empty() ? std::string() : merged_update_answer(bodies);
  const auto named = with_table(merged, table).value_or(merged);
  if (std::ranges::all_of(replies, &ChangeReply::done)) {
    out.append(named);
    return status;
  }
  return append_incomplete(out, replies, named);
}

std::optional<UpdateVerb> update_verb(std::string_view name) {
  if (name.starts_with("/json/")) name.remove_prefix(6);
  if (name.starts_with('/')) name.remove_prefix(1);
  if (name == "insert" || name == "create") return UpdateVerb::insert;
  if (name == "replace") return UpdateVerb::replace;
  if (name == "update") return UpdateVerb::update;
  if (name == "delete") return UpdateVerb::remove;
  return std::nullopt;
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

std::expected<std::unique_ptr<FanOut>, ClientError> plan_update(UpdateVerb verb,
                                                                const ClientRequest& request,
                                                                const Parsed& parsed,
                                                                ShardLayout layout) {
  auto target = read_target(request.body);
  if (!target) return update_refused(std::move(target.error()));
  if (makes_document(verb))
    if (auto why = place_document(*target, parsed.table, layout))
      return update_refused(*std::move(why));
  std::optional<std::size_t> only;
  if (layout.by == ShardBy::id && target->id && (makes_document(verb) || !target->by_query))
    only = target->id->shard(layout.shards);
  return std::make_unique<UpdatePlan>(request, parsed, *target, only);
}

}  // namespace karmad
