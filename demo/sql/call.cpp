#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <set>

#include "demo/data/text.hpp"
#include "demo/engine/highlight.hpp"
#include "demo/engine/percolate.hpp"
#include "demo/language/read_request.hpp"
#include "demo/sql/cell_text.hpp"
#include "demo/sql/show.hpp"

namespace karmad::demo {

namespace {

std::string argument_text(const Statement& statement, std::size_t place) {
  if (place >= statement.arguments.size()) return {};
  return plain_text(to_cell(view(statement.arguments[place][0])));
}

std::string option_text(const Statement& statement, std::string_view name,
                        std::string_view otherwise) {
  for (const auto& [option, value] : statement.options)
    if (option == name) return plain_text(to_cell(view(value)));
  return std::string(otherwise);
}

std::size_t option_count(const Statement& statement, std::string_view name, std::size_t otherwise) {
  return number_of<std::size_t>(option_text(statement, name, "")).value_or(otherwise);
}

/// The words of this part and in how many documents they are.
std::map<std::string, std::size_t> vocabulary(const Index& index) {
  std::map<std::string, std::size_t> out;
  for (const auto& document : index.documents()) {
    auto all = words(document.title);
    std::ranges::copy(words(document.body), std::back_inserter(all));
    for (const auto& word : std::set<std::string>(all.begin(), all.end())) ++out[word];
  }
  return out;
}

/// CALL KEYWORDS('text', 'table' [, 1]): with a third argument also counts.
ResultSet keywords(const Index& index, const Statement& statement) {
  const bool counts =
      argument_text(statement, 2) == "1" || option_text(statement, "stats", "0") == "1";
  std::vector<std::string> columns{"qpos", "tokenized", "normalized"};
  if (counts) columns.insert(columns.end(), {"docs", "hits"});
  std::vector<std::vector<std::string>> rows;
  for (const auto& word : words(argument_text(statement, 0))) {
    auto& row = rows.emplace_back();
    row = {fmt::to_string(rows.size()), word, word};
    if (!counts) continue;
    const auto found = count_of(index, word);
    row.push_back(fmt::to_string(found.documents));
    row.push_back(fmt::to_string(found.hits));
  }
  return text_rows(std::move(columns), rows);
}

/// The columns of suggestions as `result_stats` and `result_line` want them.
ResultSet suggestion_rows(const Statement& statement, std::vector<std::vector<std::string>> rows) {
  std::vector<std::string> columns{"suggest", "distance", "docs"};
  if (option_count(statement, "result_stats", 1) == 0) {
    columns.resize(1);
    for (auto& row : rows) row.resize(1);
  }
  if (option_count(statement, "result_line", 0) == 0) return text_rows(std::move(columns), rows);
  std::vector<std::vector<std::string>> lines;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::string values;
    for (const auto& row : rows) values.append(values.empty() ? "" : ",").append(row[c]);
    lines.push_back({c == 0 ? "suggests" : columns[c], std::move(values)});
  }
  return text_rows({"name", "value"}, lines);
}

/// CALL SUGGEST('word', 'table' [, 5 AS limit, 4 AS max_edits, 1 AS result_stats, 0 AS
/// result_line]): nearer ones first, then those in more documents. SUGGEST takes the first word,
/// QSUGGEST the last.
ResultSet suggest(const Index& index, const Statement& statement) {
  const auto all = words(argument_text(statement, 0));
  const auto word = all.empty()                   ? std::string()
                    : statement.what == "suggest" ? all.front()
                                                  : all.back();
  const auto most_edits = option_count(statement, "max_edits", 4);
  struct Suggestion {
    std::size_t distance;
    std::size_t documents;
    std::string word;
  };
  std::vector<Suggestion> found;
  for (const auto& [other, documents] : vocabulary(index))
    if (const auto distance = edit_distance(word, other);
        distance <= std::min(most_edits, word.size() / 2))
      found.push_back({distance, documents, other});
  std::ranges::sort(found, [](const Suggestion& a, const Suggestion& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return a.documents != b.documents ? a.documents > b.documents : a.word < b.word;
  });
  if (const auto limit = option_count(statement, "limit", 5); found.size() > limit)
    found.resize(limit);
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : found)
    rows.push_back({one.word, fmt::to_string(one.distance), fmt::to_string(one.documents)});
  return suggestion_rows(statement, std::move(rows));
}

/// CALL SNIPPETS('text' | ('text', …), 'table', 'words' [, '<b>' AS before_match, …])
ResultSet snippets(const Statement& statement) {
  Highlight how;
  how.before = option_text(statement, "before_match", how.before);
  how.after = option_text(statement, "after_match", how.after);
  const auto wanted = words(argument_text(statement, 2));
  std::vector<std::vector<std::string>> rows;
  for (const auto& text : statement.arguments[0])
    rows.push_back({marked_text(plain_text(to_cell(view(text))), how, wanted)});
  return text_rows({"snippet"}, rows);
}

/// CALL AUTOCOMPLETE('begin', 'table'): the words that begin so, those in more documents first.
ResultSet autocomplete(const Index& index, const Statement& statement) {
  const auto text = lower_case(argument_text(statement, 0));
  const auto blank = text.rfind(' ');
  const auto before = blank == std::string::npos ? std::string() : text.substr(0, blank + 1);
  const auto begin = text.substr(before.size());
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& [word, documents] : vocabulary(index))
    if (word.starts_with(begin)) found.emplace_back(documents, word);
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (found.size() > 10) found.resize(10);
  std::vector<std::vector<std::string>> rows;
  for (const auto& [documents, word] : found) rows.push_back({before + word});
  return text_rows({"query"}, rows);
}

/// Ids are numbers.
ResultSet with_ids(ResultSet result) {
  make_numbers(result, 0);
  return result;
}

/// CALL PQ('table', 'document' | ('document', …) [, 1 AS docs, 1 AS query])
ResultSet matched_queries(const SqlServer& server, const Statement& statement) {
  const bool shows_documents = option_text(statement, "docs", "0") == "1";
  const bool shows_query = option_text(statement, "query", "0") == "1";
  std::vector<std::string> columns{"id"};
  if (shows_documents) columns.emplace_back("documents");
  if (shows_query) columns.insert(columns.end(), {"query", "tags", "filters"});
  std::vector<std::string> documents;
  if (statement.arguments.size() > 1)
    for (const auto& text : statement.arguments[1])
      documents.push_back(plain_text(to_cell(view(text))));
  std::vector<std::vector<std::string>> rows;
  const auto queries = server.queries.find(lower_case(argument_text(statement, 0)));
  if (queries == server.queries.end()) return with_ids(text_rows(std::move(columns), rows));
  for (const auto& match : percolate(queries->second, documents)) {
    auto& row = rows.emplace_back();
    row.push_back(fmt::to_string(match.id));
    if (shows_documents) row.push_back(fmt::format("{}", fmt::join(match.documents, ",")));
    if (!shows_query) continue;
    row.push_back(match.query->text.empty() ? match.query->json : match.query->text);
    row.push_back(match.query->tags);
    row.emplace_back();
  }
  return with_ids(text_rows(std::move(columns), rows));
}

/// CALL UUID_SHORT(count)
ResultSet short_ids(const Statement& statement, Complaint& complaint) {
  static std::atomic<std::uint64_t> next = static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1));
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto& arguments = statement.arguments;
  const auto* count = arguments.size() == 1 && arguments[0].size() == 1
                          ? std::get_if<std::int64_t>(arguments[0].data())
                          : nullptr;
  if (count == nullptr || *count < 1 || *count > kMost) {
    complaint.say(500, "bad argument {} in UUID_SHORT() call",
                  arguments.size() != 1 ? "count"
                  : count == nullptr    ? "type"
                                        : "value");
    return {};
  }
  std::vector<std::vector<std::string>> rows;
  for (std::int64_t i = 0; i < *count; ++i) rows.push_back({fmt::to_string(next++)});
  return text_rows({"uuid_short()"}, rows);
}

}  // namespace

ResultSet stored_queries(const SqlServer& server, const Select& select) {
  const auto found = server.queries.find(lower_case(server.query_table));
  std::vector<std::vector<std::string>> rows;
  if (ranks(select.match)) return text_rows({""}, rows);
  if (found != server.queries.end())
    for (const auto& [id, query] : found->second)
      rows.push_back(
          {fmt::to_string(id), query.text.empty() ? query.json : query.text, query.tags, ""});
  if (select.groups())
    return with_ids(text_rows({select.items[0].name}, {{fmt::to_string(rows.size())}}));
  std::vector<std::string> columns{"id", "query", "tags", "filters"};
  for (const auto& item : select.items) {  // behind `*`: WEIGHT() and the id
    if (item.of_all || item.name == "id") continue;
    columns.push_back(item.name);
    for (auto& row : rows)
      row.push_back(item.expression.kind == Expression::Kind::function ? "1" : row[0]);
  }
  const auto own = columns.size();
  auto result = with_ids(text_rows(std::move(columns), rows));
  for (std::size_t c = 4; c < own; ++c) make_numbers(result, c);
  return result;
}

ResultSet call(const SqlServer& server, const Statement& statement, Complaint& complaint) {
  const auto& what = statement.what;
  if (what == "uuid_short") return short_ids(statement, complaint);
  if (const auto table = argument_text(statement, what == "pq" ? 0 : 1);
      !is_table(server.tables, table)) {
    complaint.say(500, "no such table {}", table);
    return {};
  }
  if (what == "pq") return matched_queries(server, statement);
  if (what == "keywords") return keywords(server.index, statement);
  if (what == "suggest" || what == "qsuggest") return suggest(server.index, statement);
  if (what == "snippets") return snippets(statement);
  if (what == "autocomplete") return autocomplete(server.index, statement);
  complaint.say(500, "no such builtin procedure {}", what);
  return {};
}

}  // namespace karmad::demo
