#include "agent/dialect/fronts/bulk/elastic_bulk.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/dialect/fronts/bulk/update_request.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

namespace {

std::string shown_bulk_text(std::string_view text) {
  return clean_utf8(shortened_utf8(text));
}

/// The line with an action; errors follow the words "line 3".
struct BulkHeader {
  std::string action;
  std::string table;
  std::string id;  ///< digits; empty: the engine chooses it
};

/// The next line, without its end, and its number; nothing at the end of the body.
class BulkLines {
 public:
  explicit BulkLines(std::string_view body) : rest_(body) {}

  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    const auto end = std::min(rest_.find('\n'), rest_.size());
    const auto line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return line;
  }
  std::uint32_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::uint32_t number_ = 0;
};

bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(kJsonSpace) == line.npos;
}

std::optional<std::string> take_bulk_id(std::string_view value, std::string& id) {
  id = is_string(value) ? json_unescaped(without_quotes(value)) : std::string(value);
  const bool digits = !id.empty() && id.find_first_not_of("0123456789") == id.npos;
  if (digits && (id.size() == 1 || id.front() != '0') && DocumentId::of_number(id))
    return std::nullopt;
  return fmt::format("has the _id {}; it must be a whole number of 64 bits",
                     shown_bulk_text(value));
}

std::optional<std::string> take_bulk_member(std::string_view key, std::string_view value,
                                            BulkHeader& header) {
  if (json_says(key, "_index")) {
    if (!header.table.empty()) return "gives \"_index\" twice";
    if (is_string(value)) header.table = json_unescaped(without_quotes(value));
    if (header.table.empty()) return "has an _index that is no name";
    return std::nullopt;
  }
  if (json_says(key, "_id")) {
    if (!header.id.empty()) return "gives \"_id\" twice";
    return take_bulk_id(value, header.id);
  }
  if (json_says(key, "_type")) return std::nullopt;
  return fmt::format("holds \"{}\", which is none of _index, _id and _type", shown_bulk_text(key));
}

std::expected<BulkHeader, std::string> read_bulk_header(std::string_view line) {
  const auto object = whole_object(line);
  if (!object) return std::unexpected("is not a JSON object with an action");
  BulkHeader header;
  std::optional<std::string> wrong;
  PassedMembers members(*object);
  const auto action = members.next();
  if (!action || members.next() || !is_object(action->value))
    return std::unexpected("must hold one action, like {\"index\":{\"_index\":\"name\"}}");
  header.action = json_unescaped(action->name);
  const auto is = [&](const char* name) { return header.action == name; };
  if (!is("index") && !is("create") && !is("update") && !is("delete"))
    return std::unexpected(
        fmt::format("holds \"{}\", which is none of index, create, update and delete",
                    shown_bulk_text(header.action)));
  PassedMembers inner(action->value);
  while (const auto member = inner.next())
    if (auto mistake = take_bulk_member(member->name, member->value, header))
      return std::unexpected(*std::move(mistake));
  if (header.id.empty() && (is("update") || is("delete")))
    return std::unexpected(fmt::format("needs an _id for {}", header.action));
  return header;
}

/// The document in the line behind an action.
std::expected<std::string_view, std::string> bulk_document(const BulkHeader& header,
                                                           std::optional<std::string_view> line) {
  const auto object = line ? whole_object(*line) : std::nullopt;
  if (!object)
    return std::unexpected(
        fmt::format("must be the document of the {} before it, a JSON object", header.action));
  if (header.action != "update") return *object;
  PassedMembers members(*object);
  const auto doc = members.next();
  if (!doc || members.next() || !json_says(doc->name, "doc") || !is_object(doc->value))
    return std::unexpected(
        "must hold only \"doc\" with the changed values; scripts and upserts are not supported");
  return doc->value;
}

std::string_view engine_action(const BulkHeader& header) {
  if (header.action == "create") return "insert";
  if (header.action == "index") return header.id.empty() ? "insert" : "replace";
  return header.action;
}

void append_engine_line(std::string& out, const BulkHeader& header, std::string_view document) {
  JsonLine line(out);
  line.add(R"({")");
  line.add(engine_action(header));
  line.add(R"(":{"table":)");
  line.add_quoted(header.table);
  if (!header.id.empty()) line.add(R"(,"id":)");
  line.add(std::string_view(header.id));
  if (!document.empty()) line.add(R"(,"doc":)");
  line.add(document);
  line.add("}}\n");
}

/// Reads the lines one after the other.
class BulkTranslation {
 public:
  explicit BulkTranslation(const ClientRequest& request)
      : lines_(request.body), otherwise_(request.path_table) {}

  /// The mistake in a line, or nothing at the end of the body.
  std::optional<std::string> read() {
    while (const auto line = lines_.next()) {
      if (is_blank_line(*line)) continue;
      bulk_.numbers.push_back(lines_.number());
      auto header = read_bulk_header(*line);
      if (!header) return mistake(header.error());
      if (header->table.empty()) header->table = otherwise_;
      if (header->table.empty()) return mistake("names no table; give its name in \"_index\"");
      if (bulk_.table.empty()) bulk_.table = header->table;
      if (!wire::same_word(bulk_.table, header->table))
        return mistake(
            fmt::format("names table \"{}\", the lines before it \"{}\"; all must name the same",
                        shown_bulk_text(header->table), shown_bulk_text(bulk_.table)));
      std::string_view document;
      if (header->action != "delete") {
        const auto next = lines_.next();
        const auto found = bulk_document(*header, next);
        if (!found && !next)
          return mistake(
              fmt::format("has no line with a document behind it, which {} needs", header->action));
        if (!found) return mistake(found.error());
        document = *found;
      }
      append_engine_line(bulk_.body, *header, document);
      bulk_.actions.push_back(std::move(header->action));
    }
    return std::nullopt;
  }

  ElasticBulk take() { return std::move(bulk_); }

 private:
  std::string mistake(std::string_view text) const {
    return fmt::format("line {} {}", lines_.number(), text);
  }

  BulkLines lines_;
  std::string_view otherwise_;
  ElasticBulk bulk_;
};

}  // namespace

bool is_elastic_bulk(const ClientRequest& request) {
  return request.path.ends_with("/_bulk");
}

std::expected<ElasticBulk, ClientError> translate_elastic_bulk(const ClientRequest& request,
                                                               unsigned max_depth) {
  BulkTranslation translation(request);
  if (auto wrong = translation.read()) return std::unexpected(ClientError{400, *std::move(wrong)});
  auto bulk = translation.take();
  if (bulk.numbers.empty())
    return std::unexpected(ClientError{
        400,
        "the body is empty; a _bulk has pairs of lines, like {\"index\":{\"_index\":\"name\","
        "\"_id\":\"1\"}} and a document"});
  if (auto read = read_bulk(bulk.body, max_depth); !read)
    return std::unexpected(at_clients_line(std::move(read.error()), bulk));
  return bulk;
}

ClientError at_clients_line(ClientError error, const ElasticBulk& bulk) {
  constexpr std::string_view kLine = "line ";
  std::size_t line = 0;
  if (!error.reason.starts_with(kLine)) return error;
  const auto* const begin = error.reason.data() + kLine.size();
  const auto read = std::from_chars(begin, error.reason.data() + error.reason.size(), line);
  if (line == 0 || line > bulk.numbers.size()) return error;
  return {error.status, fmt::format("line {}{}", bulk.numbers[line - 1], read.ptr)};
}

}  // namespace karmad
