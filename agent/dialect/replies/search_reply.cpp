#include "agent/dialect/replies/search_reply.hpp"

#include "agent/dialect/request/client_request.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

namespace {

std::unexpected<std::string> bad(const char* what) {
  return std::unexpected(std::string(what));
}

/// The member `hits`: totals, then the array. False: nothing is to be read behind it.
std::expected<bool, std::string> read_hits(JsonCursor& json, ReadTail tail, ReplyHead& head) {
  bool has_total = false;
  JsonMembers members(json);
  while (const auto key = members.next(R"("total":)", R"("total_relation":)", R"("hits":)")) {
    if (equals_literal(*key, "hits")) {
      skip_space(json);
      if (json.done() || *json.at != '[') return bad("its hits are not an array");
      head.hits = json;
      if (has_total && tail == ReadTail::no) return false;
    }
    const auto value = take_value(json);
    if (!value) break;
    if (equals_literal(*key, "total")) {
      const auto total = number_in<std::uint64_t>(*value);
      if (!total) return bad("hits.total is not a count");
      head.total = *total;
      has_total = true;
    } else if (equals_literal(*key, "total_relation")) {
      head.total_is_lower_bound = *value != "\"eq\"";
    }
  }
  if (members.complete() && has_total && head.hits.at != nullptr) return true;
  return bad("it has no hits.total or no hits.hits, or is malformed around them");
}

}  // namespace

std::string_view reason_in(std::string_view warning) {
  if (is_string(warning)) return without_quotes(warning);
  if (!is_object(warning)) return {};
  std::string_view reason;
  visit_members(warning, [&](std::string_view key, std::string_view value) {
    const bool found = key == "reason" && is_string(value);
    if (found) reason = without_quotes(value);
    return !found;
  });
  return reason;
}

std::expected<ReplyHead, std::string> read_reply(std::string_view body, ReadTail tail) {
  body = body.substr(0, body.find_last_not_of(kJsonSpace) + 1);
  if (body.size() < 2 || body.back() != '}') return bad("it does not end as a JSON object");
  ReplyHead head;
  JsonCursor json(body);
  JsonMembers members(json);
  while (const auto key = members.next(R"("took":)", R"("timed_out":)", R"("hits":)")) {
    if (equals_literal(*key, "hits")) {
      const auto go_on = read_hits(json, tail, head);
      if (!go_on) return std::unexpected(go_on.error());
      if (!*go_on) return head;
      continue;
    }
    const auto value = take_value(json);
    if (!value) return bad("it is malformed");
    if (equals_literal(*key, "timed_out")) head.timed_out = *value == "true";
    if (equals_literal(*key, "warning")) head.warning = reason_in(*value);
    if (equals_literal(*key, "aggregations") && is_object(*value)) head.aggregations = *value;
    if (equals_literal(*key, "profile")) head.profile = *value;
    if (equals_literal(*key, "plan")) head.plan = *value;
  }
  if (!members.complete()) return bad("it is malformed");
  skip_space(json);
  if (!json.done()) return bad("bytes follow the JSON object");
  if (head.hits.at == nullptr) return bad("it has no hits");
  return head;
}

namespace {

std::string error_member(std::string_view body) {
  std::string text;
  visit_members(body, [&](std::string_view key, std::string_view value) {
    const bool found = key == "error";
    if (found) text = json_unescaped(reason_in(value));
    return !found;
  });
  return text;
}

}  // namespace

std::string agent_error_text(std::string_view body) {
  auto text = error_member(body);
  return text.empty() ? error_member(clean_utf8(body)) : text;
}

}  // namespace karmad
