#include "tests/endtoend/differential/compared_statements.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <regex>

#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

using Json = rapidjson::Value;

using Form = GeneratedStatement::Form;

/// Numbers stay the text that they are.
constexpr unsigned kParseRows =
    rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag;

std::string json_of_rows(const Json& json) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer writer(buffer);
  json.Accept(writer);
  return buffer.GetString();
}

std::string url_encoded(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return out;
}

/// Rows of names and values that cannot be compared.
bool is_own(const GeneratedStatement& statement, const std::string& name) {
  if (statement.kind == StatementKind::meta) return name == "time" || name.starts_with("shard");
  return statement.text.ends_with("STATUS") && name != "indexed_documents" && name != "table_type";
}

/// The numbers of a list in ascending order.
std::string sorted_list(std::string_view list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const auto comma = std::min(list.find(',', at), list.size());
    parts.emplace_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ","));
}

/// One line for each row of all result sets, in order, so that differences can be shown.
std::string rows_as_text(const GeneratedStatement& statement, const std::string& body) {
  rapidjson::Document json;
  json.Parse<kParseRows>(body.c_str());
  if (json.HasParseError() || !json.IsArray()) return "no result sets: " + body;
  std::string out;
  for (const auto& set : json.GetArray()) {
    std::size_t dropped = 0;
    // Columns of a result without rows mean nothing.
    const bool columns = set.HasMember("data") && !set["data"].Empty();
    out += columns ? json_of_rows(set["columns"]) + "\n" : "done\n";
    if (set.HasMember("data")) {
      for (auto& row : set["data"].GetArray()) {
        const std::string first =
            row.MemberCount() == 0 ? "" : json_of_rows(row.MemberBegin()->value);
        if (first.size() > 2 && is_own(statement, first.substr(1, first.size() - 2))) {
          ++dropped;
          continue;
        }
        for (const auto& cell : row.GetObject()) {
          const std::string_view name(cell.name.GetString());
          const auto text = json_of_rows(cell.value);
          out += fmt::format("{}={} ", name,
                             name == "ids" ? sorted_list(cell.value.GetString()) : text);
        }
        out += '\n';
      }
    }
    const auto total = std::strtoul(set["total"].GetString(), nullptr, 10);
    out += fmt::format("total {} error {} warning {}\n", total - dropped,
                       json_of_rows(set["error"]), json_of_rows(set["warning"]));
  }
  return out;
}

/// Without the times and the words about the number of rows, which follow each table.
std::string text_of_cli(const GeneratedStatement& statement, const std::string& body) {
  static const std::regex footer(R"((\d+ rows? in set|Empty set|Query OK)[^\n]*\n*)");
  static const std::regex own(R"(\| (time|shard\[\d+\]_\w+) [^\n]*\n)");
  auto out = std::regex_replace(body, footer, "");
  if (statement.kind == StatementKind::meta) out = std::regex_replace(out, own, "");
  // As wide as lines that are not compared, and the table's name.
  static const std::regex frame(R"([-+ ]+)");
  if (statement.kind == StatementKind::meta || statement.kind == StatementKind::show)
    out = std::regex_replace(out, frame, " ");
  if (statement.text.ends_with("STATUS")) {
    const auto begin = out.find("indexed_documents");
    out = out.substr(begin, out.find('\n', begin) - begin);
    std::erase(out, ' ');
  }
  return out;
}

/// Vectors are strings in a merged answer. A table of the catalogue offers no token unasked.
std::string text_of_hits(const std::string& body) {
  static const std::regex vector(R"re("embedding":"([^"]*)")re");
  static const std::regex token(R"re(,"scroll":"[^"]*")re");
  return std::regex_replace(std::regex_replace(without_took(body), token, ""), vector,
                            R"("embedding":[$1])");
}

std::string folded_case(std::string text) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::ranges::transform(text, text.begin(), lower);
  return text;
}

std::string comparable(const GeneratedStatement& statement, const std::string& body) {
  static const std::regex table(R"(\bof\d\b)");
  auto text = statement.form == Form::cli    ? text_of_cli(statement, body)
              : statement.form == Form::hits ? text_of_hits(body)
                                             : rows_as_text(statement, body);
  text = std::regex_replace(text, table, "products");
  const auto has = [&](std::string_view part) {
    return statement.text.find(part) != std::string::npos;
  };
  // Equal strings are spelled as in any document of the group.
  if (has("FACET") || has("GROUP")) text = folded_case(std::move(text));
  // Lists in another order have the same characters.
  if (has("GROUP_CONCAT") && (statement.form == Form::cli || statement.form == Form::hits))
    std::ranges::sort(text);
  return text;
}

/// Where two texts begin to differ.
std::string first_difference(const std::string& expected, const std::string& found) {
  const auto shorter = std::min(expected.size(), found.size());
  std::size_t same = 0;
  while (same < shorter && expected[same] == found[same]) ++same;
  const auto begin = same - std::min<std::size_t>(same, 150);
  return fmt::format("expected …{}\n     got …{}", expected.substr(begin, 400),
                     found.substr(begin, 400));
}

}  // namespace

std::string path_of(const GeneratedStatement& statement) {
  switch (statement.form) {
    case Form::raw:
      return "/sql?mode=raw";
    case Form::cli_json:
      return "/cli_json";
    case Form::cli:
      return "/cli";
    case Form::raw_form:
    case Form::hits:
      break;
  }
  return "/sql";
}

std::string body_of(const GeneratedStatement& statement, std::string_view table) {
  const auto text = statement.with_table(table);
  return statement.form == Form::raw_form ? "mode=raw&query=" + url_encoded(text) : text;
}

std::string statement_difference(const GeneratedStatement& statement, const Response& whole,
                                 const Response& merged) {
  if (whole.status != 200) {
    if (statement.kind != StatementKind::mistake) return "the search server refuses: " + whole.body;
    // At /sql a mirror's status tells a wrong statement (400) from a wrong column (500).
    if (statement.form == Form::hits && statement.text.find("FROM $T") != std::string::npos)
      return merged.status == whole.status
                 ? ""
                 : fmt::format("status {} instead of {}", merged.status, whole.status);
    const bool refused = merged.status == whole.status || merged.status == 400 ||
                         merged.status == 404 || merged.status == 500 || merged.status == 501;
    return refused ? "" : fmt::format("status {} instead of {}", merged.status, whole.status);
  }
  if (merged.status != 200)
    return fmt::format("status {}: {}", merged.status, merged.body.substr(0, 300));
  const auto expected = comparable(statement, whole.body);
  const auto found = comparable(statement, merged.body);
  return expected == found ? "" : first_difference(expected, found);
}

}  // namespace karmad::test
