#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// A small server that executes what shards are asked for a SELECT: as much SQL as its test needs.

namespace karmad::select_property {

struct Doc {
  int id, price, user, weight;
  std::string brand;
};
using Docs = std::vector<Doc>;
using Value = std::variant<double, std::string>;

inline std::vector<std::string> split(std::string_view text, std::string_view by) {
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

inline std::vector<Item> items_of(std::string_view list) {
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

inline Query parse(std::string_view text) {
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
    if (text.starts_with("CRC32(")) return 0.0;  // of what has no capitals
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

  /// Of no document: the inner columns, in another order.
  std::string write_nothing() const {
    std::string columns = "{\"@count\":{\"type\":\"long long\"}}";
    for (const auto& item : query_.items)
      if (!item.text.starts_with("COUNT") && item.text != "GROUPBY()")
        columns = fmt::format("{{\"{}\":{{\"type\":\"long\"}}}},{}", item.name, columns);
    return fmt::format(
        "{{\n\"columns\":[{}],\n\"data\":[\n],\n\"total\":0,\n\"error\":\"\",\n\"warning\":\"\"\n}"
        "}",
        columns);
  }

  std::string write() const {
    if (docs_.empty()) return write_nothing();
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

inline std::string run(std::string_view statement, const Docs& docs) {
  const auto query = parse(statement);
  return Server(docs, query).run();
}

/// The statement of a facet: `items [BY keys] [DISTINCT value] ORDER BY …`.
inline std::string facet_statement(std::string_view facet) {
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
inline std::string reply(std::string_view statements, const Docs& docs) {
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

}  // namespace karmad::select_property
