#include "balancer/client/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "agent/json/json_tree.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "balancer/trace/plain_text.hpp"

namespace karmad {
namespace {

using Json = rapidjson::Value;

/// A member as text; empty: there is none.
std::string member_shown(const Json& of, std::string_view key) {
  const auto* value = member_of(&of, key);
  if (value == nullptr || value->IsNull()) return {};
  if (value->IsDouble()) return fmt::format("{:.3f}", value->GetDouble());
  return without_controls(value->IsString() ? text_of(*value) : json_of(*value));
}

/// ` name VALUE unit` for a member that is there.
std::string named(const Json& of, std::string_view key, std::string_view name,
                  std::string_view unit) {
  const auto value = member_shown(of, key);
  return value.empty() ? std::string() : fmt::format(", {} {}{}", name, value, unit);
}

std::string mirror_line(const Json& mirror, std::size_t width) {
  const auto removed = member_shown(mirror, "removed_by");
  const auto* found = member_of(&mirror, "probability");
  const auto probability = found != nullptr && found->IsNumber() ? found->GetDouble() : 0;
  auto line = fmt::format("    {} {}  {}", fitted(member_shown(mirror, "mirror"), 3, true),
                          fitted(member_shown(mirror, "address"), width),
                          removed.empty() ? fmt::format("candidate, {:.1f} %", probability * 100)
                                          : "removed: " + removed);
  line += fmt::format(
      "  ({} {}{}{}{}{}{}{})", member_shown(mirror, "role"), member_shown(mirror, "state"),
      named(mirror, "in_flight", "in flight", ""),
      named(mirror, "errors_in_a_row", "errors in a row", ""),
      named(mirror, "weight", "weight", ""), named(mirror, "rtt_ms", "round trip", " ms"),
      named(mirror, "staleness_ms", "behind", " ms"),
      member_shown(mirror, "tags").empty() ? "" : ", tags " + member_shown(mirror, "tags"));
  return line + '\n';
}

std::string attempt_line(const Json& attempt) {
  auto line = fmt::format("    attempt ({}) at {} ms: {}", member_shown(attempt, "reason"),
                          member_shown(attempt, "started_ms"), member_shown(attempt, "outcome"));
  line += named(attempt, "status", "status", "");
  line += named(attempt, "pause_ms", "after a pause of", " ms");
  line += named(attempt, "connecting_ms", "connecting", " ms");
  line += named(attempt, "first_byte_ms", "first byte at", " ms");
  line += named(attempt, "took_ms", "took", " ms");
  if (const auto error = member_shown(attempt, "error"); !error.empty()) line += ": " + error;
  return line + '\n';
}

std::string choice_text(const Json& choice, std::size_t number) {
  std::string text = fmt::format("  choice {} by {}, set {}\n", number,
                                 member_shown(choice, "chosen_by"), member_shown(choice, "set"));
  std::size_t width = 0;
  const auto mirrors = list_member(choice, "mirrors");
  for (const auto& mirror : mirrors)
    width = std::max(width, std::min<std::size_t>(width_of(member_shown(mirror, "address")), 60));
  for (const auto& mirror : mirrors) text += mirror_line(mirror, width);
  for (const auto& draw : list_member(choice, "draws"))
    text += fmt::format("    drawn: {} below {}\n", member_shown(draw, "drawn"),
                        member_shown(draw, "below"));
  if (const auto chosen = member_shown(choice, "chosen"); !chosen.empty())
    text += fmt::format("    chosen: {} {}\n", chosen, member_shown(choice, "address"));
  if (const auto refused = member_shown(choice, "refused"); !refused.empty())
    text += fmt::format("    no mirror: {}\n", refused);
  if (const auto* attempt = member_of(&choice, "attempt")) text += attempt_line(*attempt);
  return text;
}

std::string target_of(const ExplainOptions& options) {
  std::string target = "/explain";
  if (options.table.empty()) {
    append_url_encoded(target += '/', options.id);
    return target;
  }
  append_url_encoded(target += "?table=", options.table);
  if (!options.read_preference.empty())
    append_url_encoded(target += "&read_preference=", options.read_preference);
  return target;
}

}  // namespace

std::expected<std::string, std::string> explanation_text(std::string_view json) {
  const auto document = tree_of(json);
  if (member_of(&document, "shards") == nullptr)
    return std::unexpected("the answer is not an explanation of karmad");
  std::string text;
  if (const auto id = member_shown(document, "id"); !id.empty())
    text += fmt::format("request {} of {}, table {}: status {}{}{}{}\n", id,
                        member_shown(document, "time"), member_shown(document, "table"),
                        member_shown(document, "status"), named(document, "took_ms", "took", " ms"),
                        named(document, "queued_ms", "queued", " ms"),
                        named(document, "merge_ms", "merging", " ms"));
  else
    text += fmt::format("table {} now\n", member_shown(document, "table"));
  text += fmt::format("criteria: {}\n", member_shown(document, "criteria"));
  if (const auto plan = member_shown(document, "plan"); !plan.empty())
    text += fmt::format("plan: {}\n", plan);
  for (const auto& shard : list_member(document, "shards")) {
    text += fmt::format("shard {}, strategy {}\n", member_shown(shard, "shard"),
                        member_shown(shard, "strategy"));
    std::size_t number = 0;
    for (const auto& choice : list_member(shard, "choices")) text += choice_text(choice, ++number);
  }
  if (const auto left_out = member_shown(document, "left_out");
      left_out != "0" && !left_out.empty())
    text += fmt::format("choices that had no room: {}\n", left_out);
  return text;
}

int run_explain(const ExplainOptions& options) {
  const auto server = server_with_token(options.address, options.token_file);
  if (!server) return failed("karmad explain", server.error(), 2);
  const auto answer = http_ask(*server, {.target = target_of(options)}, std::chrono::seconds(5));
  if (!answer) return failed("karmad explain", answer.error(), 1);
  if (answer->status != 200) return failed("karmad explain", refusal_text(*answer), 1);
  if (options.json) {
    std::cout << answer->body << '\n';
    return 0;
  }
  const auto text = explanation_text(answer->body);
  if (!text) return failed("karmad explain", text.error(), 1);
  std::cout << *text;
  return 0;
}

}  // namespace karmad
