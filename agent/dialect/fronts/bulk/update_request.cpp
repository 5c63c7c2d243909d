#include "agent/dialect/fronts/bulk/update_request.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <optional>

#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

namespace {

constexpr std::array<std::string_view, 5> kActions{"insert", "create", "replace", "update",
                                                   "delete"};

constexpr const char* kElasticForm =
    "is of the Elasticsearch form, which belongs to /_bulk; write "
    "{\"replace\":{\"table\":\"name\",\"id\":1,\"doc\":{...}}}";

enum class Form : bool { single, bulk };

/// Handles every token of one object and finds the table's name: at the top, or in a bulk inside
/// the only member. Its messages continue "the request" or "line 3".
class Listener {
 public:
  Listener(Form form, unsigned max_depth, std::string_view text,
           const rapidjson::MemoryStream& stream, std::string& table)
      : form_(form), max_depth_(max_depth), text_(text), stream_(stream), table_(table) {
    table_.clear();
  }

  bool Null() { return other(); }
  bool Bool(bool) { return other(); }
  bool Int(int) { return other(); }
  bool Uint(unsigned) { return other(); }
  bool Int64(std::int64_t) { return other(); }
  bool Uint64(std::uint64_t) { return other(); }
  bool Double(double) { return other(); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return other(); }

  bool String(const char* text, rapidjson::SizeType size, bool) {
    return names_table() ? take_table({text, size}) : other();
  }

  bool StartObject() { return names_table() ? other() : open(); }
  bool StartArray() { return other() && open(); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view key(text, size);
    if (depth_ == level()) return hear_member(key);
    if (depth_ == 1) return hear_action(key);
    return true;
  }

  TablePlaces places() const {
    if (!index_.found()) return {named_, {}};
    if (!named_.found()) return {index_, {}};
    return named_.begin < index_.begin ? TablePlaces{named_, index_} : TablePlaces{index_, named_};
  }
  bool has_action() const { return has_action_; }
  std::string& reason() { return reason_; }

 private:
  enum class At : std::uint8_t { other, table, index };

  /// Depth of the members of an update.
  unsigned level() const { return form_ == Form::bulk ? 2 : 1; }
  bool names_table() const { return depth_ == level() && at_ != At::other; }

  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  /// A value that is neither an object nor the table's name, or is in a place where only these may
  /// be.
  bool other() {
    if (depth_ == 0) return fail("must be a JSON object");
    if (names_table()) return fail("must name its table with a string");
    if (depth_ == 1 && form_ == Form::bulk)
      return fail("must hold an object with \"table\" in its action");
    return true;
  }

  bool open() {
    if (++depth_ <= max_depth_) return true;
    return fail(fmt::format("nests deeper than max_json_depth = {} at offset {}", max_depth_,
                            stream_.Tell()));
  }

  bool close() {
    --depth_;
    return true;
  }

  bool hear_action(std::string_view action) {
    if (has_action_) return fail("holds several actions; each belongs on a line of its own");
    has_action_ = true;
    if (std::ranges::find(kActions, action) != kActions.end()) return true;
    if (action == "index") return fail(kElasticForm);
    return fail(
        fmt::format("holds \"{}\", which is none of insert, create, replace, update, delete",
                    shortened_utf8(action)));
  }

  bool hear_member(std::string_view key) {
    if (form_ == Form::bulk && key == "_index") return fail(kElasticForm);
    at_ = key == "table" ? At::table : key == "index" ? At::index : At::other;
    if (key == "join")
      return fail(
          fmt::format("has \"join\" before offset {}, which names another table", stream_.Tell()));
    if (at_ == At::other) return !may_name_table(key) || fail(why_key_is_refused(key));
    if ((at_ == At::table ? named_ : index_).found())
      return fail(fmt::format("gives \"{}\" twice", key));
    begin_ = after_colon();
    return true;
  }

  /// If both names are present, `table` counts.
  bool take_table(std::string_view table) {
    if (at_ == At::table || !named_.found()) table_ = table;
    (at_ == At::table ? named_ : index_) = {begin_, stream_.Tell()};
    return true;
  }

  /// Start of the value of a key, after the colon, which the parser will check.
  std::size_t after_colon() const {
    return std::min(text_.find_first_not_of(" \t\r\n:", stream_.Tell()), text_.size());
  }

  Form form_;
  unsigned max_depth_;
  std::string_view text_;
  const rapidjson::MemoryStream& stream_;
  std::string& table_;
  ByteRange named_;  ///< the value of `table`
  ByteRange index_;  ///< the value of `index`
  std::size_t begin_ = 0;
  unsigned depth_ = 0;
  bool has_action_ = false;
  At at_ = At::other;
  std::string reason_;
};

/// Reads updates one after the other; they share the parser's memory and must name the same table.
class UpdateReader {
 public:
  UpdateReader(Form form, unsigned max_depth)
      : form_(form), max_depth_(std::min(max_depth, kDeepestRequest)) {}

  /// The places where `text` names its table, or the mistake in it.
  std::expected<TablePlaces, std::string> read(std::string_view text) {
    // Documents are passed on unchanged: their strings are not checked for UTF-8, and their numbers
    // not converted exactly.
    rapidjson::MemoryStream stream(text.data(), text.size());
    Listener listener(form_, max_depth_, text, stream, heard_);
    const auto parsed = reader_.Parse<rapidjson::kParseIterativeFlag>(stream, listener);
    if (!listener.reason().empty()) return std::unexpected(std::move(listener.reason()));
    if (parsed.IsError())
      return std::unexpected(fmt::format("is not JSON: {} At offset {}.",
                                         rapidjson::GetParseError_En(parsed.Code()),
                                         parsed.Offset()));
    if (stream.Tell() != text.size())  // the parser takes a zero byte as the end
      return std::unexpected(fmt::format("is not JSON: a zero byte at offset {}", stream.Tell()));
    if (form_ == Form::bulk && !listener.has_action())
      return std::unexpected(
          "holds no action; the actions are insert, create, replace, update and delete");
    const auto places = listener.places();
    if (!places.found()) return std::unexpected("names no table; give its name in \"table\"");
    if (auto wrong = take_heard()) return std::unexpected(*std::move(wrong));
    return places;
  }

  std::string& table() { return table_; }

 private:
  /// Why the name is invalid, or differs from the former ones.
  std::optional<std::string> take_heard() {
    if (heard_.empty()) return "has an empty table name";
    if (heard_.find(',') != std::string::npos)
      return fmt::format("names several tables, \"{}\"; name one", shortened_utf8(heard_));
    if (heard_ == "_all") return "names \"_all\", which is not supported; name one table";
    if (table_.empty()) table_ = heard_;
    if (wire::same_word(table_, heard_)) return std::nullopt;
    return fmt::format("names table \"{}\", the lines before it \"{}\"; all must name the same",
                       shortened_utf8(heard_), shortened_utf8(table_));
  }

  Form form_;
  unsigned max_depth_;
  std::string table_;  ///< empty until the first name was heard
  std::string heard_;
  // Large enough for strings and nesting of ordinary documents, so that reading allocates nothing.
  alignas(16) char workspace_[8192];
  rapidjson::MemoryPoolAllocator<> pool_{workspace_, sizeof workspace_};
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<>>
      reader_{&pool_, 1024};
};

struct Line {
  std::string_view text;
  std::size_t begin = 0;
  std::size_t number = 0;
};

/// The non-blank lines of a body, split like the search server does: at each line feed and carriage
/// return. A pair of them counts as one line end.
class Lines {
 public:
  explicit Lines(std::string_view body) : body_(body) {}

  std::optional<Line> next() {
    while (at_ < body_.size()) {
      const auto begin = at_;
      const auto end = std::min(body_.find_first_of("\r\n", begin), body_.size());
      ++number_;
      at_ = end + (body_.substr(end).starts_with("\r\n") ? 2 : 1);
      const auto text = body_.substr(begin, end - begin);
      if (text.find_first_not_of(" \t") != text.npos) return Line{text, begin, number_};
    }
    return std::nullopt;
  }

 private:
  std::string_view body_;
  std::size_t at_ = 0;
  std::size_t number_ = 0;
};

/// Visits the updates of a bulk body, in order; stops at the first invalid line, or when `visit`
/// returns a mistake.
template <class Visit>
std::expected<std::string, std::string> visit_updates(std::string_view body, unsigned max_depth,
                                                      Visit visit) {
  UpdateReader reader(Form::bulk, max_depth);
  Lines lines(body);
  while (const auto line = lines.next()) {
    const auto places = reader.read(line->text);
    if (!places) return std::unexpected(fmt::format("line {} {}", line->number, places.error()));
    const auto in_body = [&](ByteRange at) {
      return at.found() ? ByteRange{line->begin + at.begin, line->begin + at.end} : at;
    };
    const UpdateLine update{line->text, line->begin, line->number,
                            TablePlaces{in_body(places->first), in_body(places->second)}};
    if (const std::optional<std::string> mistake = visit(update))
      return std::unexpected(fmt::format("line {} {}", line->number, *mistake));
  }
  return std::move(reader.table());
}

}  // namespace

std::expected<NamedTable, ClientError> read_update(std::string_view body, unsigned max_depth) {
  if (body.find_first_not_of(kJsonSpace) == body.npos)
    return refused(
        "the body is empty; an update is a JSON object like "
        "{\"table\":\"name\",\"id\":1,\"doc\":{...}}");
  UpdateReader reader(Form::single, max_depth);
  const auto places = reader.read(body);
  if (!places) return refused(fmt::format("the request {}", places.error()));
  return NamedTable{std::move(reader.table()), *places};
}

std::expected<NamedTable, ClientError> read_bulk(std::string_view body, unsigned max_depth) {
  NamedTable named;
  auto table = visit_updates(body, max_depth, [&](const UpdateLine& line) {
    if (!named.places.found()) named.places.first = line.places.first;
    if (!named.places.second.found()) named.places.second = line.places.second;
    return std::nullopt;
  });
  if (!table) return refused(std::move(table.error()));
  if (!named.places.found())
    return refused(
        "the body is empty; a bulk holds one JSON object a line, like "
        "{\"insert\":{\"table\":\"name\",\"id\":1,\"doc\":{...}}}");
  named.table = std::move(*table);
  return named;
}

std::optional<ClientError> visit_bulk(
    std::string_view body, unsigned max_depth,
    const std::function<std::optional<std::string>(const UpdateLine&)>& visit) {
  auto read = visit_updates(body, max_depth, visit);
  if (read) return std::nullopt;
  return ClientError{400, std::move(read.error())};
}

void append_renamed_bulk(std::string& out, std::string_view body, unsigned max_depth,
                         std::string_view table) {
  std::string quoted;
  JsonLine(quoted).add_quoted(table);
  std::size_t copied = 0;
  [[maybe_unused]] const auto read = visit_updates(body, max_depth, [&](const UpdateLine& line) {
    for (const auto place : {line.places.first, line.places.second}) {
      if (!place.found()) continue;
      out.append(body.substr(copied, place.begin - copied)).append(quoted);
      copied = place.end;
    }
    return std::nullopt;
  });
  assert(read.has_value());
  out.append(body.substr(copied));
}

}  // namespace karmad
