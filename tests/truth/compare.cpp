#include "tests/truth/compare.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <stdexcept>

namespace karmad::test {
namespace {

using Json = rapidjson::Value;

/// What a statement leaves open.
struct Freedom {
  bool ordered = false;           ///< its rows have one order
  bool cut = false;               ///< a page: other rows may stand on it where there is no order
  bool folded = false;            ///< a group is spelled as in any of its documents
  std::set<std::string> unset;    ///< columns with the value of any document
  std::set<std::string> listed;   ///< columns that are lists in any order
  std::vector<std::string> keys;  ///< the first columns of ORDER BY
};

std::string text_of(const Json& json) {
  rapidjson::StringBuffer text;
  rapidjson::Writer writer(text);
  json.Accept(writer);
  return {text.GetString(), text.GetSize()};
}

bool near(double a, double b) {
  return std::abs(a - b) <= std::max(2e-6, 1e-5 * std::max(std::abs(a), std::abs(b)));
}

std::string folded(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Texts that differ only in floats, which are as near as numbers have to be.
bool near_texts(const std::string& a, const std::string& b) {
  static const std::regex kFloat(R"(-?\d+\.\d+)");
  const auto rest = [](const std::string& text) { return std::regex_replace(text, kFloat, "#"); };
  if (rest(a) != rest(b)) return false;
  std::sregex_iterator left(a.begin(), a.end(), kFloat);
  std::sregex_iterator right(b.begin(), b.end(), kFloat);
  for (const std::sregex_iterator end; left != end; ++left, ++right)
    if (!near(std::stod(left->str()), std::stod(right->str()))) return false;
  return true;
}

bool same_text(std::string a, std::string b, bool fold) {
  if (fold) a = folded(std::move(a)), b = folded(std::move(b));
  return a == b || (a.find('.') != a.npos && near_texts(a, b));
}

bool same(const Json& a, const Json& b, bool fold = false) {
  if (a.IsNumber() && b.IsNumber()) {
    const bool whole = (a.IsInt64() || a.IsUint64()) && (b.IsInt64() || b.IsUint64());
    return whole ? a == b : near(a.GetDouble(), b.GetDouble());
  }
  if (a.GetType() != b.GetType()) return false;
  if (a.IsString()) return same_text(a.GetString(), b.GetString(), fold);
  if (a.IsArray())
    return std::equal(a.Begin(), a.End(), b.Begin(), b.End(),
                      [&](const Json& x, const Json& y) { return same(x, y, fold); });
  if (!a.IsObject()) return a == b;
  return std::equal(a.MemberBegin(), a.MemberEnd(), b.MemberBegin(), b.MemberEnd(),
                    [&](const Json::Member& x, const Json::Member& y) {
                      return x.name == y.name && same(x.value, y.value, fold);
                    });
}

std::string sorted_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ","));
}

bool same_row(const Json& a, const Json& b, const Freedom& freedom) {
  if (a.MemberCount() != b.MemberCount()) return false;
  auto other = b.MemberBegin();
  for (const auto& member : a.GetObject()) {
    const std::string name = member.name.GetString();
    if (name != other->name.GetString()) return false;
    const auto& wanted = (other++)->value;
    if (freedom.unset.contains(name)) continue;
    if (freedom.listed.contains(name) && member.value.IsString() && wanted.IsString()) {
      if (sorted_list(member.value.GetString()) != sorted_list(wanted.GetString())) return false;
    } else if (name == "_source") {
      if (!same_row(member.value, wanted, freedom)) return false;
    } else if (!same(member.value, wanted, freedom.folded)) {
      return false;
    }
  }
  return true;
}

/// The rows of `a` in the order in which `b` has them, as far as they are there.
bool same_set(const Json& a, const Json& b, const Freedom& freedom) {
  std::vector<const Json*> left;
  for (const auto& row : b.GetArray()) left.push_back(&row);
  for (const auto& row : a.GetArray()) {
    const auto found = std::ranges::find_if(
        left, [&](const Json* other) { return same_row(row, *other, freedom); });
    if (found == left.end()) return false;
    left.erase(found);
  }
  return left.empty();
}

/// Rows of a page that was cut out of rows without an order: as many, and alike in what they are
/// sorted by.
bool same_page(const Json& a, const Json& b, const Freedom& freedom) {
  for (const auto& key : freedom.keys) {
    const auto shown = [&](const Json& row) { return row.HasMember(key.c_str()); };
    if (!std::ranges::all_of(a.GetArray(), shown) || !std::ranges::all_of(b.GetArray(), shown))
      return true;
    for (rapidjson::SizeType i = 0; i < a.Size(); ++i)
      if (!same(a[i][key.c_str()], b[i][key.c_str()], freedom.folded)) return false;
  }
  return true;
}

std::string rows_differ(const Json& came, const Json& wanted, const Freedom& freedom) {
  if (came.Size() != wanted.Size())
    return fmt::format("{} rows, not {}", came.Size(), wanted.Size());
  rapidjson::SizeType i = 0;
  while (i < came.Size() && same_row(came[i], wanted[i], freedom)) ++i;
  if (i == came.Size()) return {};
  if (!freedom.ordered && same_set(came, wanted, freedom)) return {};
  if (!freedom.ordered && freedom.cut && same_page(came, wanted, freedom)) return {};
  return fmt::format("row {}: {}\n      not {}", i, text_of(came[i]), text_of(wanted[i]));
}

std::smatch match_in(const std::string& text, const char* pattern) {
  static std::string kept;  // a match refers to its text
  kept = text;
  std::smatch out;
  std::regex_search(kept, out, std::regex(pattern, std::regex::icase));
  return out;
}

/// The statement, then its facets.
std::vector<std::string> parts_of(const std::string& statement) {
  std::vector<std::string> out;
  const std::regex facet(R"(\bFACET\b(?!\())", std::regex::icase);
  std::copy(std::sregex_token_iterator(statement.begin(), statement.end(), facet, -1),
            std::sregex_token_iterator(), std::back_inserter(out));
  return out;
}

/// What one statement leaves open, without what the record says.
Freedom freedom_of(const std::string& part, bool is_facet) {
  Freedom out;
  const bool grouped = is_facet || !match_in(part, R"(\bGROUP( \d+)? BY\b)").empty();
  out.folded = grouped;
  if (const auto limit = match_in(part, R"(\bLIMIT (\d+)(?:\s*,\s*(\d+))?)"); !limit.empty())
    out.cut = true;
  out.cut = out.cut || is_facet || match_in(part, R"(\bGROUP\b|\bLIMIT\b)").empty();
  if (!match_in(part, "max_matches=").empty()) out.cut = true;
  if (const auto order = match_in(
          part,
          R"((?:^|[^P]) ?\bORDER BY ((?:(?! LIMIT | OPTION | HAVING | ORDER BY ).)*)(?: LIMIT | OPTION | HAVING |;|$))");
      !order.empty()) {
    const auto text = order[1].str();
    const std::regex key(R"(([\w.]+(?:\([^)]*\))?)[^,]*,?)");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), key);
         at != std::sregex_iterator(); ++at)
      out.keys.push_back(folded((*at)[1].str()));
  }
  return out;
}

std::set<std::string> lists_in(const std::string& statement) {
  std::set<std::string> out;
  const std::regex call(R"((GROUP_CONCAT\(\w+\))(?:\s+(?:AS\s+)?(\w+))?)", std::regex::icase);
  for (auto at = std::sregex_iterator(statement.begin(), statement.end(), call);
       at != std::sregex_iterator(); ++at)
    out.insert({folded((*at)[1].str()), folded((*at)[2].str())});
  return out;
}

/// What the record of a case does not say: values of any document of a group.
void add_unrecorded(const std::string& statement, Freedom& out) {
  if (statement.starts_with("SELECT tags, COUNT(*) c FROM t GROUP BY tags")) out.unset = {"tags"};
  if (statement.starts_with("SELECT n, price FROM t GROUP 2 BY n")) out.unset = {"price"};
}

/// Whether what is answered tells of the machine: then only its columns are compared.
bool is_of_the_machine(const std::string& statement) {
  return statement == "SELECT VERSION()" || statement == "SHOW TABLE t STATUS" ||
         statement == "SHOW THREADS";
}

Freedom freedom_of(const Case& one, std::size_t set, const std::vector<std::string>& parts) {
  const bool is_facet = set > 0 && set < parts.size();
  const auto& part = parts[std::min(set, parts.size() - 1)];
  auto out = freedom_of(part, is_facet);
  out.listed = lists_in(one.body);
  const auto has_key = [&](const std::string& name) {
    return std::ranges::find(out.keys, name) != out.keys.end();
  };
  const auto order = one.record.FindMember("order");
  if (is_facet) {
    out.ordered = !out.keys.empty() && (out.keys.size() > 1 || out.keys[0] != "count(*)");
  } else if (order != one.record.MemberEnd()) {
    out.ordered = order->value["total"].GetBool();
    for (const auto& column : order->value["undefined"].GetArray())
      out.unset.insert(column.GetString());
  } else {
    const auto group = match_in(part, R"(\bGROUP(?: \d+)? BY ([\w.]+))");
    out.ordered = has_key("id") || (!group.empty() && has_key(folded(group[1].str())));
    add_unrecorded(one.body, out);
  }
  return out;
}

std::string set_differs(const Case& one, const Json& came, const Json& wanted,
                        const Freedom& freedom) {
  const bool has_rows = wanted.HasMember("data");
  if (!came.IsObject() || came.HasMember("data") != has_rows) return "another kind of result";
  if (has_rows) {
    const auto& rows = wanted["data"];
    const auto& other = came["data"];
    if (!rows.Empty() && !other.Empty() && !same(came["columns"], wanted["columns"]))
      return fmt::format("columns {}\n      not {}", text_of(came["columns"]),
                         text_of(wanted["columns"]));
    if (is_of_the_machine(one.body)) return {};
    auto told = rapidjson::Document{};
    if (auto out = rows_differ(other, rows, freedom); !out.empty()) return out;
  }
  for (const auto* name : {"total", "error", "warning"})
    if (wanted.HasMember(name) && (!came.HasMember(name) || !same(came[name], wanted[name])))
      return fmt::format("{}: {}", name, text_of(came));
  return {};
}

std::string raw_differs(const Case& one, const Json& came, const Json& wanted) {
  if (!came.IsArray() || came.Size() != wanted.Size()) return "other result sets " + text_of(came);
  const auto parts = parts_of(one.body);
  for (rapidjson::SizeType i = 0; i < wanted.Size(); ++i)
    if (auto out = set_differs(one, came[i], wanted[i], freedom_of(one, i, parts)); !out.empty())
      return fmt::format("set {}: {}", i, out);
  return {};
}

/// Buckets without an order of their own, or ordered only by their counts. `spec` is null for a
/// FACET.
bool same_buckets(const Json& came, const Json& wanted, const Json& spec) {
  if (!came.IsObject() || !came.HasMember("buckets") || !came["buckets"].IsArray()) return false;
  const auto& left = came["buckets"];
  const auto& right = wanted["buckets"];
  if (left.Size() != right.Size() || came.HasMember("after_key") != wanted.HasMember("after_key"))
    return false;
  if (spec.IsObject() && spec.HasMember("composite")) return true;
  const bool facet = !spec.IsObject();
  const bool by_count =
      facet || (spec.HasMember("sort") && text_of(spec["sort"]) == R"x([{"count(*)":"desc"}])x");
  if (!facet && (!spec.HasMember("terms") || (spec.HasMember("sort") && !by_count))) return false;
  for (rapidjson::SizeType i = 0; i < left.Size(); ++i) {
    if (by_count && !same(left[i]["doc_count"], right[i]["doc_count"])) return false;
    for (const auto& other : right.GetArray())
      if (same(left[i]["key"], other["key"]) && !same(left[i], other)) return false;
  }
  return true;
}

std::string aggregations_differ(const Json& came, const Json& wanted, const Json& specs) {
  for (const auto& member : wanted.GetObject()) {
    const auto* name = member.name.GetString();
    if (!came.HasMember(name)) return fmt::format("no aggregation {}", name);
    const Json none;
    const auto& spec = specs.IsObject() && specs.HasMember(name) ? specs[name] : none;
    if (same(came[name], member.value, true)) continue;
    if (member.value.HasMember("buckets") && same_buckets(came[name], member.value, spec)) continue;
    return fmt::format("aggregation {}: {}\n      not {}", name, text_of(came[name]),
                       text_of(member.value));
  }
  return {};
}

/// Hits of a search without a total order: the same ones have the same members.
std::string loose_hits_differ(const Json& came, const Json& wanted, bool cut) {
  if (came.Size() != wanted.Size())
    return fmt::format("{} hits, not {}", came.Size(), wanted.Size());
  for (const auto& hit : came.GetArray()) {
    bool found = cut;
    for (const auto& other : wanted.GetArray()) {
      if (hit["_id"] != other["_id"]) continue;
      found = true;
      if (!same(hit, other))
        return fmt::format("hit {}\n      not {}", text_of(hit), text_of(other));
    }
    if (!found) return "another hit " + text_of(hit);
  }
  return {};
}

std::string hits_differ(const Case& one, const Json& came, const Json& wanted) {
  if (!came.IsObject() || !came.HasMember("hits")) return "no hits: " + text_of(came);
  rapidjson::Document request;
  Freedom freedom;
  const bool json = one.path == "/search";
  if (json) {
    request.Parse(one.body.c_str());
    const auto sort = request.HasMember("sort") ? text_of(request["sort"]) : std::string();
    freedom.ordered = sort.find("\"id\"") != sort.npos;
  } else {
    freedom = freedom_of(one, 0, parts_of(one.body));
  }
  for (const auto& member : wanted.GetObject()) {
    const std::string name = member.name.GetString();
    if (name == "took") continue;
    if (!came.HasMember(name.c_str())) return fmt::format("no {}", name);
    const auto& other = came[name.c_str()];
    std::string out;
    if (name == "hits") {
      for (const auto* total : {"total", "total_relation"})
        if (!same(other[total], member.value[total]))
          return fmt::format("{} {}, not {}", total, text_of(other[total]),
                             text_of(member.value[total]));
      const auto& rows = member.value["hits"];
      out = json && !freedom.ordered
                ? loose_hits_differ(other["hits"], rows,
                                    request.HasMember("offset") ||
                                        member.value["total"].GetUint64() > rows.Size())
                : rows_differ(other["hits"], rows, freedom);
    } else if (name == "aggregations") {
      const Json none;
      out = aggregations_differ(other, member.value,
                                json && request.HasMember("aggs") ? request["aggs"] : none);
    } else if (!same(other, member.value)) {
      out = fmt::format("{}: {}\n      not {}", name, text_of(other), text_of(member.value));
    }
    if (!out.empty()) return out;
  }
  return {};
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

}  // namespace

std::vector<Case> read_cases(const std::string& file) {
  std::ifstream lines(KARMAD_SOURCE_DIR "/tests/truth/" + file);
  std::vector<Case> out;
  for (std::string line; std::getline(lines, line);) {
    Case one;
    one.record.Parse<rapidjson::kParseFullPrecisionFlag>(line.c_str());
    if (!one.record.IsObject()) throw std::runtime_error("no case: " + line);
    one.path = one.record["path"].GetString();
    const auto& body = one.record[one.record.HasMember("statement") ? "statement" : "body"];
    one.body = body.IsString() ? body.GetString() : text_of(body);
    out.push_back(std::move(one));
  }
  return out;
}

std::string difference(const Case& one, const char* server, int status, const std::string& body) {
  const auto& wanted = one.record[server];
  if (status != wanted["status"].GetInt())
    return fmt::format("status {}, not {}: {}\n      not {}", status, wanted["status"].GetInt(),
                       body.substr(0, 300), text_of(wanted["body"]).substr(0, 300));
  if (status != 200) return {};
  const auto& right = wanted["body"];
  if (right.IsString())  // no JSON, such as a number without an end
    return without_blanks(body) == without_blanks(right.GetString()) ? "" : body;
  rapidjson::Document came;
  came.Parse<rapidjson::kParseFullPrecisionFlag>(body.c_str());
  if (came.HasParseError()) return "no JSON: " + body.substr(0, 300);
  return right.IsArray() ? raw_differs(one, came, right) : hits_differ(one, came, right);
}

}  // namespace karmad::test
