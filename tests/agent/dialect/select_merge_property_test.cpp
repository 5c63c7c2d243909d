// Random documents divided over shards give the same answer to a SELECT as all of them on one
// server. A small server in this file executes what the shards are asked.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/dialect/manticore_sql/rows/merge_select.hpp"
#include "agent/dialect/manticore_sql/select/plan_select.hpp"

namespace karmad::select_property {
namespace {

struct Doc {
  int id, price, user, weight;
  std::string brand;
};
using Docs = std::vector<Doc>;
using Value = std::variant<double, std::string>;

std::vector<std::string> split(std::string_view text, std::string_view by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find(by);
    parts.emplace_back(text.substr(0, end));
    text = end == text.npos ? std::string_view{} : text.substr(end + by.size());
  }
  return parts;
}

/// An expression and its name.
struct Item {
  std::string text, name;
};

std::vector<Item> items_of(std::string_view list) {
  std::vector<Item> items;
  for (const auto& part : split(list, ", ")) {
    if (part == "*") {
      for (const auto* const name : {"id", "brand", "price", "user"}) items.push_back({name, name});
      continue;
    }
    const auto as = part.find(" AS ");
    if (as == part.npos)
      items.push_back({part, part});
    else
      items.push_back({part.substr(0, as), part.substr(as + 4)});
  }
  return items;
}

/// A SELECT in the spelling that plan_select writes.
struct Query {
  std::vector<Item> items;
  std::vector<std::string> group;
  std::vector<std::string> within, order;
  std::string having;
  bool where = false;
  std::size_t per_group = 1, offset = 0, limit = 20;
};

Query parse(std::string_view text) {
  std::map<std::string, std::string> clauses;
  const std::string_view words[] = {
      "SELECT ",  " FROM ",     " WHERE ", " GROUP ", " WITHIN GROUP ORDER BY ",
      " HAVING ", " ORDER BY ", " LIMIT ", " OPTION "};
  std::size_t at = 0;
  for (const auto word : words) {
    auto found = text.find(word, at);
    while (word == " GROUP " && found != text.npos && found >= 7 &&
           text.substr(found - 7, 7) == " WITHIN")
      found = text.npos;
    if (found == text.npos) continue;
    auto end = text.size();
    for (const auto next : words)
      if (const auto begin = text.find(next, found + word.size());
          begin != text.npos && &next != &word)
        end = std::min(end, begin);
    clauses[std::string(word)] = text.substr(found + word.size(), end - found - word.size());
    at = end;
  }
  Query query;
  query.items = items_of(clauses["SELECT "]);
  query.where = clauses.contains(" WHERE ");
  if (auto group = clauses[" GROUP "]; !group.empty()) {
    if (group.front() != 'B') query.per_group = std::stoul(group);
    query.group = split(std::string_view(group).substr(group.find("BY ") + 3), ", ");
  }
  query.within = split(clauses[" WITHIN GROUP ORDER BY "], ", ");
  query.order = split(clauses[" ORDER BY "], ", ");
  query.having = clauses[" HAVING "];
  const auto limit = split(clauses[" LIMIT "], ",");
  if (limit.size() == 2) query.offset = std::stoul(limit[0]);
  if (!limit.empty()) query.limit = std::stoul(limit.back());
  return query;
}

/// Executes one SELECT on the documents of a server.
class Server {
 public:
  Server(const Docs& docs, const Query& query) : query_(query) {
    for (const auto& doc : docs)
      if (!query.where || doc.price > 3) docs_.push_back(&doc);
  }

  std::string run() {
    const bool aggregates = std::ranges::any_of(query_.items, [](const Item& item) {
      return item.text.starts_with("COUNT") || item.text.starts_with("SUM") ||
             item.text.starts_with("AVG") || item.text.starts_with("M");
    });
    std::map<std::vector<Value>, Group> groups;
    for (std::size_t i = 0; i < docs_.size(); ++i) {
      std::vector<Value> key;
      if (!query_.group.empty()) {
        for (const auto& name : query_.group) key.push_back(of_doc(expression(name), *docs_[i]));
      } else if (!aggregates) {
        key.push_back(static_cast<double>(i));
      }
      groups[key].docs.push_back(docs_[i]);
    }
    std::vector<std::vector<Value>> rows;
    for (auto& [key, group] : groups) {
      group.key = key;
      sort_within(group);
      if (query_.having.empty() || holds(group)) sorted_.push_back(group);
    }
    std::ranges::stable_sort(sorted_, [&](const Group& a, const Group& b) {
      return before(order_or_default(query_.order), a, b);
    });
    return write();
  }

 private:
  struct Group {
    std::vector<Value> key;
    std::vector<const Doc*> docs;
  };

  std::string expression(const std::string& name) const {
    for (const auto& item : query_.items)
      if (item.name == name) return item.text;
    return name;
  }

  static Value of_doc(const std::string& text, const Doc& doc) {
    if (text == "id") return static_cast<double>(doc.id);
    if (text == "price") return static_cast<double>(doc.price);
    if (text == "price*2") return static_cast<double>(doc.price) * 2;
    if (text == "user") return static_cast<double>(doc.user);
    if (text == "weight()") return static_cast<double>(doc.weight);
    EXPECT_EQ(text, "brand");
    return doc.brand;
  }

  static double number(const Value& value) { return std::get<double>(value); }

  /// The key of a group of several attributes.
  static double hash(const std::vector<Value>& key) {
    std::string text;
    for (const auto& part : key)
      text += std::holds_alternative<double>(part) ? fmt::format("{},", number(part))
                                                   : std::get<std::string>(part) + ",";
    return static_cast<double>(std::hash<std::string>{}(text) % 1'000'000'007);
  }

  Value of_group(const std::string& text, const Group& group) const {
    const auto inner = [&](std::size_t skip) { return text.substr(skip, text.size() - skip - 1); };
    if (text == "COUNT(*)") return static_cast<double>(group.docs.size());
    if (text == "GROUPBY()") return group.key.size() == 1 ? group.key.front() : hash(group.key);
    if (text.starts_with("COUNT(DISTINCT ")) {
      std::set<Value> values;
      for (const auto* doc : group.docs) values.insert(of_doc(inner(15), *doc));
      return static_cast<double>(values.size());
    }
    if (!text.starts_with("SUM(") && !text.starts_with("AVG(") && !text.starts_with("MIN(") &&
        !text.starts_with("MAX("))
      return of_doc(text, *group.docs.front());
    std::vector<double> values;
    for (const auto* doc : group.docs) values.push_back(number(of_doc(inner(4), *doc)));
    if (text[1] == 'I') return *std::ranges::min_element(values);
    if (text.starts_with("MAX")) return *std::ranges::max_element(values);
    double sum = 0;
    for (const auto value : values) sum += value;
    return text.front() == 'S' ? sum : sum / static_cast<double>(values.size());
  }

  static std::vector<std::string> order_or_default(const std::vector<std::string>& order) {
    return order.empty() ? std::vector<std::string>{"weight() DESC", "id ASC"} : order;
  }

  bool before(const std::vector<std::string>& order, const Group& a, const Group& b) const {
    for (const auto& key : order) {
      const auto name = expression(key.substr(0, key.rfind(' ')));
      const auto x = of_group(name, a);
      const auto y = of_group(name, b);
      if (x != y) return key.ends_with("DESC") ? y < x : x < y;
    }
    return false;
  }

  void sort_within(Group& group) const {
    const auto order = order_or_default(query_.within);
    std::ranges::stable_sort(group.docs, [&](const Doc* a, const Doc* b) {
      return before(order, Group{{}, {a}}, Group{{}, {b}});
    });
  }

  bool holds(const Group& group) const {
    const auto parts = split(query_.having, " > ");
    return number(of_group(expression(parts[0]), group)) > std::stod(parts[1]);
  }

  std::string write() const {
    std::string columns;
    for (const auto& item : query_.items) {
      const bool text = item.text == "brand" || (item.text == "GROUPBY()" &&
                                                 query_.group == std::vector<std::string>{"brand"});
      columns += fmt::format("{}{{\"{}\":{{\"type\":\"{}\"}}}}", columns.empty() ? "" : ",",
                             item.name, text ? "string" : "double");
    }
    std::vector<std::string> rows;
    for (const auto& group : sorted_)
      for (std::size_t n = 0; n < std::min(query_.per_group, group.docs.size()); ++n)
        rows.push_back(row(group, n));
    std::string data;
    std::size_t count = 0;
    for (auto i = query_.offset; i < rows.size() && count < query_.limit; ++i, ++count)
      data += (count == 0 ? "" : ",\n") + rows[i];
    return fmt::format(
        "{{\n\"columns\":[{}],\n\"data\":[\n{}\n],\n\"total\":{},\n\"error\":\"\",\n\"warning\":"
        "\"\"\n}}",
        columns, data, count);
  }

  std::string row(const Group& group, std::size_t n) const {
    auto shown = group;
    std::swap(shown.docs.front(), shown.docs[n]);
    std::string text;
    for (const auto& item : query_.items) {
      const auto value = of_group(item.text, shown);
      text += fmt::format("{}\"{}\":", text.empty() ? "{" : ",", item.name);
      if (const auto* const name = std::get_if<std::string>(&value))
        text += fmt::format("\"{}\"", *name);
      else if (!item.text.starts_with("AVG"))
        text += fmt::format("{}", static_cast<long long>(number(value)));
      else
        text += fmt::format("{:.8f}", number(value));
    }
    return text + "}";
  }

  const Query& query_;
  std::vector<const Doc*> docs_;
  std::vector<Group> sorted_;
};

std::string run(std::string_view statement, const Docs& docs) {
  const auto query = parse(statement);
  return Server(docs, query).run();
}

/// The statement of a facet: `items [BY keys] [DISTINCT value] ORDER BY …`.
std::string facet_statement(std::string_view facet) {
  const auto order = std::min(facet.find(" ORDER BY "), facet.size());
  const auto head = split(facet.substr(0, order), " DISTINCT ");
  const auto keys = split(head[0], " BY ");
  std::string group;
  for (const auto& item : items_of(keys[0])) group += (group.empty() ? "" : ", ") + item.name;
  if (keys.size() > 1) group = keys[1];
  std::string tail(facet.substr(order));
  if (const auto at = tail.find("FACET()"); at != tail.npos) tail.replace(at, 7, group);
  return fmt::format(
      "SELECT {}{}, COUNT(*) AS count(*) FROM T GROUP BY {}{}", keys[0],
      head.size() > 1 ? fmt::format(", COUNT(DISTINCT {0}) AS count(distinct {0})", head[1]) : "",
      group, tail);
}

/// A server's reply to the statements of a plan.
std::string reply(std::string_view statements, const Docs& docs) {
  std::string sets;
  for (const auto& statement : split(statements, "; ")) {
    if (!sets.empty()) sets += ",\n";
    if (statement == "SHOW META") {
      sets += fmt::format(
          "{{\n\"columns\":[{{\"Variable_name\":{{\"type\":\"string\"}}}},{{\"Value\":{{\"type\":"
          "\"string\"}}}}],\n\"data\":[\n{{\"Variable_name\":\"total_found\",\"Value\":\"{}\"}}\n],"
          "\n"
          "\"total\":1,\n\"error\":\"\",\n\"warning\":\"\"\n}}",
          docs.size());
      continue;
    }
    const auto parts = split(statement, " FACET ");
    sets += run(parts[0], docs);
    for (std::size_t f = 1; f < parts.size(); ++f)
      sets += ",\n" + run(facet_statement(parts[f]), docs);
  }
  return "[" + sets + "]";
}

void expect_same_rows(const std::string& merged, const std::string& single,
                      std::string_view about) {
  rapidjson::Document a, b;
  a.Parse(merged.c_str());
  b.Parse(single.c_str());
  ASSERT_FALSE(a.HasParseError()) << merged;
  ASSERT_FALSE(b.HasParseError()) << single;
  ASSERT_EQ(a.Size(), b.Size()) << about << merged;
  for (rapidjson::SizeType s = 0; s < a.Size(); ++s) {
    const auto& left = a[s]["data"];
    const auto& right = b[s]["data"];
    ASSERT_EQ(left.Size(), right.Size()) << about << "\n" << merged << "\n" << single;
    for (rapidjson::SizeType r = 0; r < left.Size(); ++r) {
      ASSERT_EQ(left[r].MemberCount(), right[r].MemberCount()) << about << "\n" << merged;
      for (const auto& member : right[r].GetObject()) {
        ASSERT_TRUE(left[r].HasMember(member.name)) << about << "\n" << merged;
        const auto& value = left[r][member.name];
        if (member.value.IsString())
          ASSERT_STREQ(value.GetString(), member.value.GetString()) << about << "\n"
                                                                    << merged << "\n"
                                                                    << single;
        else
          ASSERT_NEAR(value.GetDouble(), member.value.GetDouble(), 1e-6) << about << "\n"
                                                                         << merged << "\n"
                                                                         << single;
      }
    }
  }
}

/// What one server answers: rows and facets.
std::string single_answer(std::string_view statement, const Docs& docs) {
  const auto parts = split(statement, " FACET ");
  std::string sets = run(parts[0], docs);
  for (std::size_t f = 1; f < parts.size(); ++f) sets += "," + run(facet_statement(parts[f]), docs);
  return "[" + sets + "]";
}

Docs random_docs(std::mt19937& random) {
  const auto below = [&](int most) { return std::uniform_int_distribution(0, most - 1)(random); };
  Docs docs;
  const auto count = below(60);
  const std::string brands[] = {"acme", "globex", "initech", "umbrella", "zorg"};
  for (int i = 0; i < count; ++i)
    docs.push_back({i + 1, below(12), below(7), 1000 + below(4), brands[below(5)]});
  return docs;
}

TEST(SelectMerge, RowsDividedOverShardsMergeToTheAnswerOfOneServer) {
  const std::string_view statements[] = {
      "SELECT id, price FROM T ORDER BY price DESC, id ASC LIMIT 3,10",
      "SELECT price FROM T WHERE price > 3 ORDER BY brand ASC, price DESC, id ASC LIMIT 0,7",
      "SELECT id, brand FROM T LIMIT 0,15",
      "SELECT brand, price*2 AS p FROM T ORDER BY p ASC, weight() DESC, id ASC",
      "SELECT COUNT(*), SUM(price), MIN(price), MAX(user), AVG(price) FROM T",
      "SELECT COUNT(DISTINCT user) AS u, COUNT(*) AS c FROM T WHERE price > 3",
      "SELECT brand, COUNT(*) AS c FROM T GROUP BY brand ORDER BY c DESC, brand ASC LIMIT 0,3",
      "SELECT brand, AVG(price) AS a, MAX(user) FROM T GROUP BY brand ORDER BY a DESC, brand ASC",
      "SELECT brand, id, price FROM T GROUP BY brand ORDER BY brand DESC LIMIT 1,3",
      "SELECT id, brand, COUNT(*) FROM T GROUP BY price",
      "SELECT brand, id FROM T GROUP BY brand WITHIN GROUP ORDER BY price DESC, id ASC ORDER BY "
      "brand ASC",
      "SELECT brand, id, COUNT(*) AS c FROM T GROUP 2 BY brand WITHIN GROUP ORDER BY price ASC, id "
      "ASC ORDER BY brand ASC LIMIT 1,6",
      "SELECT brand, user, SUM(price) AS s FROM T GROUP BY brand, user ORDER BY s DESC, brand ASC, "
      "user ASC LIMIT 0,9",
      "SELECT user, COUNT(*) AS c FROM T GROUP BY user HAVING c > 4 ORDER BY user ASC",
      "SELECT user, SUM(price) AS s FROM T GROUP BY user HAVING AVG(price) > 5 ORDER BY s ASC, "
      "user "
      "DESC",
      "SELECT brand, COUNT(DISTINCT user) AS u FROM T GROUP BY brand ORDER BY u DESC, brand ASC",
      "SELECT brand, price, COUNT(DISTINCT user) AS u FROM T WHERE price > 3 GROUP BY brand, price "
      "ORDER BY brand ASC, price ASC LIMIT 2,8",
      "SELECT id FROM T ORDER BY id ASC LIMIT 0,2 FACET brand ORDER BY COUNT(*) DESC, brand ASC "
      "LIMIT "
      "0,3 FACET user, price ORDER BY price DESC, user ASC LIMIT 2,4",
      "SELECT *, price AS p FROM T ORDER BY p DESC, brand ASC, id ASC LIMIT 0,9 FACET price*2 AS d "
      "BY "
      "price ORDER BY FACET() DESC LIMIT 0,5 FACET brand DISTINCT user ORDER BY COUNT(*) DESC, "
      "brand "
      "ASC",
      "SELECT COUNT(*) AS c, *, SUM(price) AS s FROM T GROUP BY user ORDER BY s DESC, c ASC, user "
      "ASC",
  };
  std::mt19937 random(20);
  for (int round = 0; round < 16; ++round) {
    const auto docs = random_docs(random);
    const auto shards = 1 + static_cast<std::size_t>(round % 4);
    std::vector<Docs> parts(shards);
    for (const auto& doc : docs)
      parts[std::uniform_int_distribution<std::size_t>(0, shards - 1)(random)].push_back(doc);
    for (const auto statement : statements) {
      const auto select = plan_select(statement, RowForm::raw, Collation::libc_ci);
      ASSERT_TRUE(select) << statement << ": " << select.error().reason;
      std::string text;
      append_statements(text, *select, std::vector<std::string>{"T"});
      std::vector<std::string> bodies;
      for (const auto& part : parts) bodies.push_back(reply(text, part));
      std::vector<ShardReply> replies;
      for (const auto& body : bodies) replies.push_back({body});
      std::string merged;
      const auto bad = merge_select(select->plan, replies, MergeNotes{}, merged);
      ASSERT_FALSE(bad) << statement << ": " << bad->reason << "\n" << bodies[bad->shard];
      expect_same_rows(merged, single_answer(statement, docs), text);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace karmad::select_property
