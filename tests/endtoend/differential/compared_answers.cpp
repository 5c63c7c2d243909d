#include "tests/endtoend/differential/compared_answers.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

using Json = rapidjson::Value;
using Rule = AllowedDifferences::Rule;

/// Numbers stay the text that they are.
constexpr unsigned kParse = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag;

std::string json_text(const Json& json) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer writer(buffer);
  json.Accept(writer);
  return buffer.GetString();
}

const Json* member(const Json& json, const char* name) {
  if (!json.IsObject()) return nullptr;
  const auto found = json.FindMember(name);
  return found == json.MemberEnd() ? nullptr : &found->value;
}

double number(const Json& aggregation) {
  const auto* value = member(aggregation, "value");
  return value != nullptr && value->IsString() ? std::atof(value->GetString()) : std::nan("");
}

bool near(double a, double b, double relative, double absolute) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b)) + absolute;
}

/// Whether the merged sum is beyond 64 bits, and the expected one is what is left of it there.
bool wraps_to(const Json& expected, const Json& found) {
  const auto* left = member(expected, "value");
  const auto* sum = member(found, "value");
  if (left == nullptr || sum == nullptr || !left->IsString() || !sum->IsString()) return false;
  std::uint64_t rest = 0;
  const std::string_view digits(sum->GetString());
  for (const char c : digits)
    if (c >= '0' && c <= '9') rest = rest * 10 + static_cast<std::uint64_t>(c - '0');
  if (digits.starts_with('-')) rest = 0 - rest;
  const bool beyond = digits.size() > 19 || std::abs(std::atof(sum->GetString())) >= 0x1p63;
  return beyond && std::to_string(static_cast<std::int64_t>(rest)) == left->GetString();
}

/// The names of both answers' members, in order.
bool same_names(const Json& a, const Json& b) {
  if (a.MemberCount() != b.MemberCount()) return false;
  for (auto x = a.MemberBegin(), y = b.MemberBegin(); x != a.MemberEnd(); ++x, ++y)
    if (x->name != y->name) return false;
  return true;
}

/// Whether the merged buckets are as many, fall by count, and none counts more than the one that
/// should stand in its place.
bool counts_no_more(const Json& expected, const Json& found) {
  if (expected.Size() != found.Size()) return false;
  const auto count = [](const Json& bucket) { return std::atol(bucket["doc_count"].GetString()); };
  for (rapidjson::SizeType i = 0; i < found.Size(); ++i)
    if (count(found[i]) > count(expected[i]) || (i > 0 && count(found[i]) > count(found[i - 1])))
      return false;
  return true;
}

std::string folded(std::string text) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::ranges::transform(text, text.begin(), lower);
  return text;
}

/// Whether only keys that differ in case have changed places; of those where the size cuts the list
/// off another may be the last.
bool ties_changed_places(const Json& expected, const Json& found) {
  if (expected.Size() != found.Size() || found.Empty()) return false;
  const auto key = [](const Json& bucket) { return folded(json_text(bucket["key"])); };
  for (rapidjson::SizeType i = 0; i < found.Size(); ++i) {
    if (key(expected[i]) != key(found[i])) return false;
    const bool moved = std::find(expected.Begin(), expected.End(), found[i]) != expected.End();
    if (!moved && key(found[i]) != key(found[found.Size() - 1])) return false;
  }
  return true;
}

std::string aggregations_difference(const GeneratedSearch& search, const Json& whole,
                                    const Json& merged, AllowedDifferences& allowed) {
  if (!same_names(whole, merged)) return "the aggregations have other names";
  for (auto x = whole.MemberBegin(), y = merged.MemberBegin(); x != whole.MemberEnd(); ++x, ++y) {
    const auto expected = json_text(x->value);
    const auto found = json_text(y->value);
    if (expected == found) continue;
    const auto inexact = search.inexact.find(x->name.GetString());
    const auto kind = inexact == search.inexact.end() ? "" : inexact->second;
    // 24 bits of a float, added a few thousand times; doubles, and eight decimals as shown.
    if (kind == "sum" && near(number(x->value), number(y->value), 0x1p-16, 0)) {
      allowed.count(Rule::float_sums);
    } else if (kind == "wide" && wraps_to(x->value, y->value)) {
      allowed.count(Rule::wide_sums);
    } else if (kind == "avg" && near(number(x->value), number(y->value), 0x1p-46, 2e-8)) {
      allowed.count(Rule::averages);
    } else if (kind == "tied" && ties_changed_places(x->value["buckets"], y->value["buckets"])) {
      allowed.count(Rule::tied_groups);
    } else if (kind == "terms" && counts_no_more(x->value["buckets"], y->value["buckets"])) {
      allowed.count(Rule::over_request);
    } else {
      return fmt::format("aggregation {}: {} instead of {}", x->name.GetString(), found, expected);
    }
  }
  return {};
}

bool weighs_alike(const Json& hit) {
  const auto* source = member(hit, "_source");
  const auto* weight = source == nullptr ? nullptr : member(*source, "weight");
  return weight != nullptr && weight->IsString() &&
         std::string_view(weight->GetString()) == "0.250000";
}

/// Hits may have changed places where both servers show the one weight that four floats print as.
std::string hits_difference(const GeneratedSearch& search, const Json& whole, const Json& merged,
                            AllowedDifferences& allowed) {
  const auto& expected = whole["hits"];
  const auto& found = merged["hits"];
  for (const auto* name : {"total", "total_relation"})
    if (whole[name] != merged[name])
      return fmt::format("{}: {} instead of {}", name, json_text(merged[name]),
                         json_text(whole[name]));
  if (expected.Size() != found.Size())
    return fmt::format("{} hits instead of {}", found.Size(), expected.Size());
  bool alike = false;
  for (rapidjson::SizeType i = 0; i < expected.Size(); ++i) {
    if (expected[i] == found[i]) continue;
    if (!search.by_weight || !weighs_alike(expected[i]) || !weighs_alike(found[i]))
      return fmt::format("hit {}: {} instead of {}", i, json_text(found[i]),
                         json_text(expected[i]));
    alike = true;
  }
  if (alike) allowed.count(Rule::floats_alike);
  return {};
}

std::string error_of(const Response& answer) {
  rapidjson::Document json;
  json.Parse<kParse>(answer.body.c_str());
  const auto* error = json.HasParseError() ? nullptr : member(json, "error");
  return error != nullptr && error->IsString() ? error->GetString() : "";
}

/// Without the table with which it may begin: each has another name for it.
std::string error_behind_table(const Response& answer) {
  auto error = error_of(answer);
  if (error.starts_with("table ")) error.erase(0, error.find(": ") + 2);
  return error;
}

}  // namespace

std::string AllowedDifferences::told() const {
  static const std::map<Rule, std::string_view> names{
      {Rule::floats_alike, "floats that print alike"},
      {Rule::float_sums, "sums of floats"},
      {Rule::wide_sums, "sums beyond 64 bits"},
      {Rule::averages, "last digits of averages"},
      {Rule::over_request, "terms of more groups than asked for"},
      {Rule::own_order, "order of composites without sort"},
      {Rule::tied_groups, "order of groups that tie"},
      {Rule::not_merged, "refused on several shards"},
      {Rule::told_by_shard, "mistakes told with the shard's name"}};
  std::string out;
  for (const auto& [rule, name] : names) {
    const auto found = counts_.find(rule);
    out += fmt::format("  {:38} {}\n", name, found == counts_.end() ? 0 : found->second);
  }
  return out;
}

std::string difference(const GeneratedSearch& search, const Response& whole, const Response& merged,
                       AllowedDifferences& allowed) {
  if (whole.status != 200 || merged.status != 200)
    return whole.status == merged.status
               ? "no answer at all: " + whole.body
               : fmt::format("status {} instead of {}", merged.status, whole.status);
  if (without_took(whole.body) == without_took(merged.body)) return {};
  rapidjson::Document expected;
  rapidjson::Document found;
  expected.Parse<kParse>(whole.body.c_str());
  found.Parse<kParse>(merged.body.c_str());
  if (found.HasParseError()) return "no JSON";
  if (!same_names(expected, found)) return "other members than " + whole.body;
  auto out = hits_difference(search, expected["hits"], found["hits"], allowed);
  const auto* aggregations = member(expected, "aggregations");
  if (out.empty() && aggregations != nullptr)
    out = aggregations_difference(search, *aggregations, found["aggregations"], allowed);
  for (const auto* name : {"timed_out", "warning"})
    if (out.empty() && expected.HasMember(name) && expected[name] != found[name])
      out = fmt::format("{}: {} instead of {}", name, json_text(found[name]),
                        json_text(expected[name]));
  return out;
}

std::string mistake_difference(const Response& whole, const Response& merged,
                               AllowedDifferences& allowed) {
  if (whole.status == 200) return "the search server takes it";
  if (whole.status == merged.status && whole.body == merged.body) return {};
  if (merged.status != whole.status && merged.status != 400)
    return fmt::format("status {} instead of {}: {}", merged.status, whole.status, merged.body);
  // karmad says it itself, or names the shard and the agent and repeats what that one said.
  if (merged.status != 400 && error_of(merged).find(error_behind_table(whole)) == std::string::npos)
    return fmt::format("'{}' instead of '{}'", error_of(merged), error_of(whole));
  allowed.count(Rule::told_by_shard);
  return {};
}

std::string refusal_difference(const Response& merged, AllowedDifferences& allowed) {
  if (merged.status != 400) return fmt::format("status {} instead of 400", merged.status);
  if (error_of(merged).empty()) return "no reason";
  allowed.count(Rule::not_merged);
  return {};
}

PagedGroups page_through(const std::function<Response(const std::string& body)>& answer_to,
                         const GeneratedSearch& search, std::string_view table) {
  constexpr std::size_t kMostPages = 1000;
  PagedGroups out;
  for (std::string after; out.trouble.empty();) {
    const auto body = search.page(table, after);
    const auto answer = answer_to(body);
    if (answer.status != 200) {
      out.trouble = answer.status == 0 ? "no answer" : answer.body + " to " + body;
      break;
    }
    rapidjson::Document json;
    json.Parse<kParse | rapidjson::kParseFullPrecisionFlag>(answer.body.c_str());
    const auto& page = json["aggregations"]["a"];
    const auto begin = answer.body.find("\"after_key\":");
    ++out.pages;
    if (page["buckets"].Empty()) break;
    const auto end = answer.body.find("},\"buckets\"", begin);
    after = answer.body.substr(begin + 12, end + 1 - (begin + 12));
    for (const auto& bucket : page["buckets"].GetArray()) {
      const bool fresh =
          out.counts.emplace(json_text(bucket["key"]), json_text(bucket["doc_count"])).second;
      if (!fresh) out.trouble = "a group twice: " + json_text(bucket);
      out.spelled += json_text(bucket["key"]);
    }
    if (out.pages == kMostPages) out.trouble = "no end";
  }
  out.in_order = folded(out.spelled);
  return out;
}

std::string groups_difference(const GeneratedSearch& search, const PagedGroups& whole,
                              const PagedGroups& merged, AllowedDifferences& allowed) {
  if (!whole.trouble.empty()) return "the search server: " + whole.trouble;
  if (!merged.trouble.empty()) return merged.trouble;
  if (whole.counts.size() != merged.counts.size())
    return fmt::format("{} groups instead of {}", merged.counts.size(), whole.counts.size());
  for (auto x = whole.counts.begin(), y = merged.counts.begin(); x != whole.counts.end(); ++x, ++y)
    if (*x != *y)
      return fmt::format("group {}: {} instead of {}: {}", y->first, y->second, x->first,
                         x->second);
  if (whole.pages != merged.pages)
    return fmt::format("{} pages instead of {}", merged.pages, whole.pages);
  if (whole.spelled == merged.spelled) return {};
  if (search.sorted && whole.in_order != merged.in_order) return "the groups come in another order";
  allowed.count(search.sorted ? Rule::tied_groups : Rule::own_order);
  return {};
}

}  // namespace karmad::test
