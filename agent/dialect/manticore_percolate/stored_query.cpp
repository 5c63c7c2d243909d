#include "agent/dialect/manticore_percolate/stored_query.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/changes/shard_of_id.hpp"
#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_percolate/percolate_body.hpp"
#include "agent/dialect/manticore_update/judge_update.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"
#include "agent/dialect/manticore_update/update_plan.hpp"

namespace karmad {
namespace {

/// The query goes as it is to one shard, or to the only one.
class StoredQueryPlan final : public ChangePlan {
 public:
  /// `path`: with the id that karmad has made; empty: the client's path.
  StoredQueryPlan(std::string_view body, std::string table, std::size_t shard, std::string path)
      : body_(body), table_(std::move(table)), shard_(shard), path_(std::move(path)) {}

  std::string_view path() const { return path_; }

  bool asks(std::size_t shard) const override { return shard == shard_; }
  void write(std::size_t, std::span<const std::string>, std::string& body) const override {
    body += body_;
  }
  int merge_changes(std::span<const ChangeReply> replies, std::string& out) const override {
    return merge_update_replies(replies, table_, out);
  }

 private:
  std::string_view body_;
  std::string table_;
  std::size_t shard_;
  std::string path_;
};

/// What follows /doc/ in the path; empty: the request names no id.
std::string_view id_in_path(const ClientRequest& request) {
  constexpr std::string_view kJson = "/json";
  constexpr std::string_view kBefore = "/pq/";
  constexpr std::string_view kAfter = "/doc/";
  auto path = request.path;
  if (path.starts_with(kJson)) path.remove_prefix(kJson.size());
  const auto size = kBefore.size() + request.path_table_raw.size() + kAfter.size();
  return path.substr(std::min(size, path.size()));
}

std::unexpected<ClientError> not_stored(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

}  // namespace

std::expected<Parsed, ClientError> StoredQuery::parse(const ClientRequest& request) const {
  if (auto mistake = mistake_in_percolate_body(request.body, settings_.max_json_depth);
      !mistake.empty())
    return std::unexpected(ClientError{400, std::move(mistake)});
  return Parsed{.table = std::string(request.path_table), .read = false};
}

std::expected<std::unique_ptr<FanOut>, ClientError> StoredQuery::fan_out(
    const ClientRequest& request, const Parsed& parsed, ShardLayout layout) const {
  const auto text = id_in_path(request);
  auto id = DocumentId::of_number(text);
  if (!text.empty() && !id)
    return not_stored(fmt::format("the id in the path must be a number: '{}'", text));
  if (const auto why = check_shard_known(parsed.table, layout))
    return not_stored(fmt::format("the request {}", *why));
  if (const auto why = check_document_id(id, layout, text))
    return not_stored(fmt::format("the request {}", *why));
  std::string path;
  if (needs_made_id(id, layout)) {
    const auto made = layout.make_id();
    id = DocumentId::of(made);
    path = request.path.substr(0, request.path.size() - text.size());
    path.append(path.ends_with('/') ? "" : "/").append(fmt::to_string(made));
  }
  return std::make_unique<StoredQueryPlan>(request.body, parsed.table,
                                           id ? id->shard(layout.shards) : 0, std::move(path));
}

AgentRequest StoredQuery::write(const ClientRequest& request, const Parsed&, PlanPart part,
                                std::span<const std::string> tables, std::string& buffer) const {
  auto written = request;
  if (part.plan != nullptr) {
    const auto path = static_cast<const StoredQueryPlan*>(part.plan)->path();
    const auto table = request.path_table_raw.data() - request.path.data();
    if (!path.empty()) {
      written.path = path;
      written.path_table_raw =
          path.substr(static_cast<std::size_t>(table), request.path_table_raw.size());
    }
  }
  return write_request(
      written, buffer, [] {}, tables.first(std::min<std::size_t>(tables.size(), 1)));
}

Judgement StoredQuery::judge(const AgentReply& reply, bool) const {
  return judge_update(reply);
}

std::optional<std::string> StoredQuery::body_for_client(const Parsed& parsed, int,
                                                        std::string_view body) const {
  return with_table(body, parsed.table);
}

void StoredQuery::refuse(int, std::string_view reason, std::string& out) const {
  append_error_body(out, reason);
}

}  // namespace karmad
