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
std::string shown(const Json& of, std::string_view key) {
  const auto* value = member_of(&of, key);
  if (value == nullptr || value->IsNull()) return {};
  if (value->IsDouble()) return fmt::format("{:.3f}", value->GetDouble());
  return without_controls(value->IsString() ? text_of(*value) : json_of(*value));
}

/// ` name VALUE unit` for a member that is there.
std::string named(const Json& of, std::string_view key, std::string_view name,
                  std::string_view unit) {
  const auto value = shown(of, key);
  return value.empty() ? std::string() : fmt::format(", {} {}{}", name, value, unit);
}

std::string mirror_line(const Json& mirror, std::size_t width) {
  const auto removed = shown(mirror, "removed_by");
  const auto* found = member_of(&mirror, "probability");
  const auto probability = found != nullptr && found->IsNumber() ? found->GetDouble() : 0;
  auto line = fmt::format("    {} {}  {}", fitted(shown(mirror, "mirror"), 3, true),
                          fitted(shown(mirror, "address"), width),
                          removed.empty() ? fmt::format("candidate, {:.1f} %", probability * 100)
                                          : "removed: " + removed);
  line += fmt::format("  ({} {}{}{}{}{}{}{})", shown(mirror, "role"), shown(mirror, "state"),
                      named(mirror, "in_flight", "in flight", ""),
                      named(mirror, "errors_in_a_row", "errors in a row", ""),
                      named(mirror, "weight", "weight", ""),
                      named(mirror, "rtt_ms", "round trip", " ms"),
                      named(mirror, "staleness_ms", "behind", " ms"),
                      shown(mirror, "tags").empty() ? "" : ", tags " + shown(mirror, "tags"));
  return line + '\n';
}

std::string attempt_line(const Json& attempt) {
  auto line = fmt::format("    attempt ({}) at {} ms: {}", shown(attempt, "reason"),
                          shown(attempt, "started_ms"), shown(attempt, "outcome"));
  line += named(attempt, "status", "status", "");
  line += named(attempt, "pause_ms", "after a pause of", " ms");
  line += named(attempt, "connecting_ms", "connecting", " ms");
  line += named(attempt, "first_byte_ms", "first byte at", " ms");
  line += named(attempt, "took_ms", "took", " ms");
  if (const auto error = shown(attempt, "error"); !error.empty()) line += ": " + error;
  return line + '\n';
}

std::string choice_text(const Json& choice, std::size_t number) {
  std::string text = fmt::format("  choice {} by {}, set {}\n", number, shown(choice, "chosen_by"),
                                 shown(choice, "set"));
  std::size_t width = 0;
  const auto mirrors = list_member(choice, "mirrors");
  for (const auto& mirror : mirrors)
    width = std::max(width, std::min<std::size_t>(width_of(shown(mirror, "address")), 60));
  for (const auto& mirror : mirrors) text += mirror_line(mirror, width);
  for (const auto& draw : list_member(choice, "draws"))
    text += fmt::format("    drawn: {} below {}\n", shown(draw, "drawn"), shown(draw, "below"));
  if (const auto chosen = shown(choice, "chosen"); !chosen.empty())
    text += fmt::format("    chosen: {} {}\n", chosen, shown(choice, "address"));
  if (const auto refused = shown(choice, "refused"); !refused.empty())
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
  if (const auto id = shown(document, "id"); !id.empty())
    text += fmt::format("request {} of {}, table {}: status {}{}{}{}\n", id,
                        shown(document, "time"), shown(document, "table"),
                        shown(document, "status"), named(document, "took_ms", "took", " ms"),
                        named(document, "queued_ms", "queued", " ms"),
                        named(document, "merge_ms", "merging", " ms"));
  else
    text += fmt::format("table {} now\n", shown(document, "table"));
  text += fmt::format("criteria: {}\n", shown(document, "criteria"));
  if (const auto plan = shown(document, "plan"); !plan.empty())
    text += fmt::format("plan: {}\n", plan);
  for (const auto& shard : list_member(document, "shards")) {
    text += fmt::format("shard {}, strategy {}\n", shown(shard, "shard"), shown(shard, "strategy"));
    std::size_t number = 0;
    for (const auto& choice : list_member(shard, "choices")) text += choice_text(choice, ++number);
  }
  if (const auto left_out = shown(document, "left_out"); left_out != "0" && !left_out.empty())
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
