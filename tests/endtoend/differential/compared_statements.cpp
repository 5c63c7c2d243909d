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
using Kind = StatementKind;
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
  if (statement.kind == Kind::meta) return name == "time" || name.starts_with("shard");
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
    out += set.HasMember("columns") ? json_of_rows(set["columns"]) + "\n" : "done\n";
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

std::string text_of_cli(const GeneratedStatement& statement, const std::string& body) {
  static const std::regex seconds(R"(\(\d+\.\d+ sec\))");
  auto out = std::regex_replace(body, seconds, "(sec)");
  // Lines whose lists are in another order have the same characters.
  if (statement.text.find("GROUP_CONCAT") != std::string::npos) std::ranges::sort(out);
  return out;
}

std::string text_of_hits(const GeneratedStatement& statement, const std::string& body) {
  auto out = without_took(body);
  if (statement.text.find("GROUP_CONCAT") != std::string::npos) std::ranges::sort(out);
  return out;
}

std::string comparable(const GeneratedStatement& statement, const std::string& body) {
  static const std::regex table(R"(\bof\d\b)");
  const auto text = statement.form == Form::cli    ? text_of_cli(statement, body)
                    : statement.form == Form::hits ? text_of_hits(statement, body)
                                                   : rows_as_text(statement, body);
  return std::regex_replace(text, table, "products");
}

/// The first lines in which two texts differ.
std::string first_difference(const std::string& expected, const std::string& found) {
  std::size_t begin = 0;
  const auto shorter = std::min(expected.size(), found.size());
  for (std::size_t i = 0; i < shorter && expected[i] == found[i]; ++i)
    if (expected[i] == '\n') begin = i + 1;
  const auto line = [&](const std::string& text) {
    return text.substr(std::min(begin, text.size()), 300);
  };
  return fmt::format("expected …{}\n     got …{}", line(expected), line(found));
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
    if (statement.kind != Kind::mistake) return "the search server refuses: " + whole.body;
    const bool refused = merged.status == whole.status || merged.status == 400 ||
                         merged.status == 404 || merged.status == 501;
    return refused ? "" : fmt::format("status {} instead of {}", merged.status, whole.status);
  }
  if (merged.status != 200)
    return fmt::format("status {}: {}", merged.status, merged.body.substr(0, 300));
  const auto expected = comparable(statement, whole.body);
  const auto found = comparable(statement, merged.body);
  return expected == found ? "" : first_difference(expected, found);
}

}  // namespace karmad::test
