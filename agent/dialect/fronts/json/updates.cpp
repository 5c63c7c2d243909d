#include "agent/dialect/fronts/json/read_request.hpp"

#include <fmt/format.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <algorithm>
#include <limits>
#include <utility>

#include "agent/dialect/request/document_ids.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "config/text/source_text.hpp"
#include "strategies/words.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestBulk = std::numeric_limits<std::uint32_t>::max();

constexpr const char* kElasticForm =
    "is of the Elasticsearch form, which belongs to /_bulk; write "
    "{\"replace\":{\"table\":\"name\",\"id\":1,\"doc\":{...}}}";

enum class Form : bool { single, bulk };

BulkBytes bulk_bytes(std::size_t begin, std::size_t end) {
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

/// Whether an engine may read this key, unescaped, as `id`: in any case, or cut off at a zero byte.
bool may_name_id(std::string_view key) {
  return key.size() >= 2 && (key[0] | 0x20) == 'i' && (key[1] | 0x20) == 'd' &&
         (key.size() == 2 || key[2] == '\0');
}

/// Handles every token of one object of the body: finds the table's name and the id, at the top or
/// in a bulk inside the only member. Its messages continue "the request" or "line 3".
class UpdateListener : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, UpdateListener> {
 public:
  UpdateListener(Form form, unsigned max_depth, std::string_view body,
                 const rapidjson::MemoryStream& stream, UpdateRequest& read, std::string& table)
      : form_(form),
        max_depth_(max_depth),
        body_(body),
        stream_(stream),
        begin_(stream.Tell()),
        read_(read),
        table_(table) {}

  bool Default() { return other() && end_member(stream_.Tell()); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return names_table() ? take_table({text, size}) : Default();
  }
  bool StartObject() { return names_table() ? other() : open(); }
  bool StartArray() { return other() && open(); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view key(text, size);
    if (depth_ == level()) return hear_member(key);
    if (depth_ == 1) return hear_action(key);
    if (depth_ == level() + 1 && at_ == At::doc && may_name_id(key))
      mistake("has an id in \"doc\"; give it only beside \"doc\", so that its shard is known");
    return true;
  }

  bool has_action() const { return has_action_; }
  /// The end of the member with the mistake in UpdateRequest; 0: there is none.
  std::size_t mistake_end() const { return mistake_end_; }
  std::string& reason() { return reason_; }

 private:
  enum class At : std::uint8_t { other, table, index, id, doc };

  /// Depth of the members of an update.
  unsigned level() const { return form_ == Form::bulk ? 2 : 1; }
  bool names_table() const { return depth_ == level() && (at_ == At::table || at_ == At::index); }

  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  /// Only the first counts. A request that is passed on to one shard is sent in spite of it.
  void mistake(std::string text) {
    if (read_.mistake.empty()) read_.mistake = std::move(text);
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
    if (++depth_ > max_depth_)
      return fail(fmt::format("nests deeper than max_json_depth = {} at offset {}", max_depth_,
                              stream_.Tell() - begin_));
    // The iterative parser reports a bracket before it consumes it.
    if (depth_ == level()) read_.update.id = bulk_bytes(stream_.Tell() + 1, stream_.Tell() + 1);
    return true;
  }

  bool close() {
    --depth_;
    return end_member(stream_.Tell() + 1);
  }

  bool end_member(std::size_t end) {
    if (depth_ == level() && (at_ == At::id || !read_.mistake.empty())) end_id_or_mistake(end);
    return true;
  }

  [[gnu::noinline]] void end_id_or_mistake(std::size_t end) {
    if (at_ == At::id) {
      read_.update.id = bulk_bytes(value_, end);
      at_ = At::other;
      const auto id = read_.update.id.in(body_);
      if (!is_array(id) && !is_string(id) && id != "null" && !DocumentId::of_number(id))
        mistake(fmt::format("has the id {}; it must be a whole number of 64 bits or a string",
                            shortened_utf8(id)));
    }
    if (!read_.mistake.empty() && mistake_end_ == 0) mistake_end_ = end;
  }

  bool hear_action(std::string_view action) {
    if (has_action_) return fail("holds several actions; each belongs on a line of its own");
    has_action_ = true;
    if (const auto verb = action.starts_with('/') ? std::nullopt : update_verb(action)) {
      read_.update.verb = *verb;
      return true;
    }
    if (action == "index") return fail(kElasticForm);
    return fail(
        fmt::format("holds \"{}\", which is none of insert, create, replace, update, delete",
                    shortened_utf8(action)));
  }

  bool hear_member(std::string_view key) {
    if (form_ == Form::bulk && key == "_index") return fail(kElasticForm);
    at_ = At::other;
    if (key == "join")
      return fail(fmt::format("has \"join\" before offset {}, which names another table",
                              stream_.Tell() - begin_));
    if (key == "table" || key == "index") {
      at_ = key == "table" ? At::table : At::index;
      value_ = after_colon();
      auto& given = at_ == At::table ? has_table_ : has_index_;
      return !std::exchange(given, true) || fail(fmt::format("gives \"{}\" twice", key));
    }
    if (key == "query") read_.update.by_query = true;
    if (key == "doc") at_ = At::doc;
    if (may_name_id(key)) hear_id(key);
    return !may_name_table(key) || fail(why_key_is_refused(key));
  }

  void hear_id(std::string_view key) {
    if (has_id_) mistake("gives \"id\" twice");
    if (key != "id") mistake(fmt::format("has a key {}; write id", shortened_utf8(raw_key())));
    if (read_.mistake.empty()) at_ = At::id;
    value_ = after_colon();
    has_id_ = true;
  }

  /// The key that was read last, with its escapes.
  std::string_view raw_key() const {
    const auto end = stream_.Tell() - 1;
    auto begin = body_.rfind('"', end - 1);
    while (body_[begin - 1] == '\\') begin = body_.rfind('"', begin - 1);
    return body_.substr(begin + 1, end - begin - 1);
  }

  /// If both names are present, `table` counts.
  bool take_table(std::string_view table) {
    const bool is_first = read_.update.table.end == 0;
    if (at_ == At::table || is_first) table_ = table;
    (is_first ? read_.update.table : read_.update.other_table) = bulk_bytes(value_, stream_.Tell());
    return true;
  }

  /// Start of the value of a key, after the colon, which the parser will check.
  std::size_t after_colon() const {
    return std::min(body_.find_first_not_of(" \t\r\n:", stream_.Tell()), body_.size());
  }

  const Form form_;
  const unsigned max_depth_;
  const std::string_view body_;
  const rapidjson::MemoryStream& stream_;
  const std::size_t begin_;  ///< of the object
  UpdateRequest& read_;
  std::string& table_;
  bool has_table_ = false;
  bool has_index_ = false;
  std::size_t value_ = 0;
  unsigned depth_ = 0;
  std::size_t mistake_end_ = 0;
  bool has_action_ = false;
  bool has_id_ = false;
  At at_ = At::other;
  std::string reason_;
};

/// Reads updates one after the other; they share the parser's memory and must name the same table.
class UpdateReader {
 public:
  UpdateReader(Form form, std::string_view body, unsigned max_depth)
      : form_(form), body_(body), max_depth_(std::min(max_depth, kDeepestRequest)) {}

  /// Reads the update in these bytes into `read`. Returns the mistake in it.
  std::optional<std::string> read(std::size_t begin, std::size_t end, UpdateRequest& read) {
    // Documents are passed on unchanged: their strings are not checked for UTF-8, and their numbers
    // not converted exactly.
    rapidjson::MemoryStream stream(body_.data(), end);
    stream.src_ += begin;
    heard_.clear();
    UpdateListener listener(form_, max_depth_, body_, stream, read, heard_);
    const auto parsed = reader_.Parse<rapidjson::kParseIterativeFlag>(stream, listener);
    if (!listener.reason().empty()) return std::move(listener.reason());
    if (parsed.IsError())
      return why_not_json(body_.substr(begin, end - begin), parsed.Code(), parsed.Offset() - begin);
    if (stream.Tell() != end)  // the parser takes a zero byte as the end
      return fmt::format("is not JSON: a zero byte at offset {}", stream.Tell() - begin);
    if (form_ == Form::bulk && !listener.has_action())
      return "holds no action; the actions are insert, create, replace, update and delete";
    if (read.update.table.end == 0) return "names no table; give its name in \"table\"";
    const bool cut = form_ == Form::single && listener.mistake_end() != 0;
    read.update.text = bulk_bytes(begin, cut ? listener.mistake_end() : end);
    return take_heard();
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

  const Form form_;
  const std::string_view body_;
  const unsigned max_depth_;
  std::string table_;  ///< empty until the first name was heard
  std::string heard_;
  // Large enough for strings and nesting of ordinary documents, so that reading allocates nothing.
  alignas(16) char workspace_[8192];
  rapidjson::MemoryPoolAllocator<> pool_{workspace_, sizeof workspace_};
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<>>
      reader_{&pool_, 1024};
};

std::unexpected<ClientError> too_long(std::string_view what, std::size_t size) {
  return std::unexpected(ClientError{
      413, fmt::format("the {} has {} bytes in the engine's form, more than {}; send it in parts",
                       what, size, kLongestBulk)});
}

void set_update(Parsed& parsed, UpdateReader& reader, BulkBytes first, BulkBytes second) {
  parsed.table = std::move(reader.table());
  parsed.read = false;
  parsed.answer = PassedAnswer::with_table;
  parsed.table_place = {first.begin, first.end};
  parsed.other_place = {second.begin, second.end};
}

/// Adds a line that was read. Lines of one group follow each other.
void add_line(BulkRequest& bulk, UpdateRequest&& read) {
  auto& lines = bulk.split.lines;
  if (!lines.empty()) {
    const auto& before = lines.back();
    const bool apart = read.update.number != before.number + 1 ||
                       read.update.verb == UpdateVerb::update || before.verb == UpdateVerb::update;
    read.update.group = before.group + (apart ? 1 : 0);
  }
  if (bulk.mistake.empty() && !read.mistake.empty()) {
    bulk.mistake = std::move(read.mistake);
    bulk.mistaken = lines.size();
  }
  lines.push_back(read.update);
}

/// The id that the update names; nothing if it names none, or several.
std::optional<DocumentId> id_named(std::string_view value) {
  if (is_string(value)) return DocumentId::of_text(json_unescaped(without_quotes(value)));
  return DocumentId::of_number(value);
}

}  // namespace

OrError<Parsed> read_update(std::string_view path, std::string_view body, unsigned max_depth) {
  OrError<Parsed> parsed;  // the only one, constructed in place
  if (body.size() > kLongestBulk) {
    parsed = too_long("update", body.size());
  } else if (body.find_first_not_of(kJsonSpace) == body.npos) {
    parsed = refused(
        "the body is empty; an update is a JSON object like "
        "{\"table\":\"name\",\"id\":1,\"doc\":{...}}");
  } else {
    auto& read = parsed->what.emplace<UpdateRequest>();
    read.update.verb = update_verb(path).value_or(UpdateVerb::update);
    UpdateReader reader(Form::single, body, max_depth);
    if (auto wrong = reader.read(0, body.size(), read))
      parsed = refused("the request {}", *wrong);
    else
      set_update(*parsed, reader, read.update.table, read.update.other_table);
  }
  return parsed;
}

/// Lines are split like the search server does: at each line feed and carriage return. A pair of
/// them counts as one line end.
OrError<Parsed> read_bulk(std::string_view body, unsigned max_depth) {
  if (body.size() > kLongestBulk) return too_long("bulk", body.size());
  OrError<Parsed> parsed;
  auto& bulk = parsed->what.emplace<BulkRequest>();
  UpdateReader reader(Form::bulk, body, max_depth);
  BulkBytes first;
  BulkBytes second;
  std::uint32_t number = 0;
  for (std::size_t at = 0; at < body.size();) {
    const auto begin = at;
    const auto end = std::min(body.find_first_of("\r\n", begin), body.size());
    ++number;
    at = end + (body.substr(end).starts_with("\r\n") ? 2 : 1);
    if (body.substr(begin, end - begin).find_first_not_of(" \t") == body.npos) continue;
    UpdateRequest read{{.number = number}};
    if (auto wrong = reader.read(begin, end, read)) return refused("line {} {}", number, *wrong);
    if (first.end == 0) first = read.update.table;
    if (second.end == 0) second = read.update.other_table;
    add_line(bulk, std::move(read));
  }
  if (bulk.split.lines.empty())
    return refused(
        "the body is empty; a bulk holds one JSON object a line, like "
        "{\"insert\":{\"table\":\"name\",\"id\":1,\"doc\":{...}}}");
  bulk.split.line_count = 1 + static_cast<std::size_t>(std::ranges::count(body, '\n'));
  set_update(*parsed, reader, first, second);
  return parsed;
}

void append_renamed_bulk(std::string& out, std::string_view body, const BulkSplit& bulk,
                         std::string_view table) {
  std::string quoted;
  JsonLine(quoted).add_quoted(table);
  std::size_t copied = 0;
  for (const auto& line : bulk.lines)
    for (const auto place : {line.table, line.other_table}) {
      if (place.end == 0) continue;
      out.append(body.substr(copied, place.begin - copied)).append(quoted);
      copied = place.end;
    }
  out.append(body.substr(copied));
}

std::optional<std::string> check_shard_known(std::string_view table, const ShardLayout& layout) {
  if (layout.shards == 1 || layout.by != ShardBy::none) return std::nullopt;
  return fmt::format(
      "makes a document in table {}, which has {} shards, and karmad does not know to which shard "
      "it belongs; set shard_by = id in the table (the shard is then a hash of the id), or send it "
      "to a table of one shard",
      table, layout.shards);
}

std::optional<std::string> place_update(BulkLine& update, std::string_view mistake,
                                        std::string_view body, std::string_view table,
                                        const ShardLayout& layout) {
  if (!is_utf8(update.text.in(body))) return "is not JSON in UTF-8";
  // The only mirror that gets it judges it.
  if (!mistake.empty() && (layout.shards > 1 || layout.copies)) return std::string(mistake);
  const auto value = update.id.in(body);
  auto id = id_named(value);
  const bool makes = makes_document(update.verb);
  if (makes) {
    if (auto why = check_shard_known(table, layout)) return why;
    if (auto why = check_document_id(id, layout, value)) return why;
    if (needs_made_id(id, layout)) {
      if (is_array(value)) return "makes one document with several ids; give one id, or none";
      // A server takes a document without values only with its id.
      if (update.number == 0 && !PassedMembers(last_member(trimmed(body), "doc")).next())
        return "has no document with values in \"doc\"";
      update.made_id = layout.make_id();
      id = DocumentId::of(update.made_id);
    }
  }
  if (!id) update.id = {};
  if (id && layout.by == ShardBy::id && (makes || !update.by_query))
    update.shard = static_cast<std::uint32_t>(id->shard(layout.shards));
  return std::nullopt;
}

OrError<BulkSplit> split_bulk(const BulkRequest& bulk, std::string_view body,
                              std::string_view table, const ShardLayout& layout) {
  auto split = bulk.split;
  for (auto& line : split.lines) {
    const bool mistaken = &line == &split.lines[bulk.mistaken];
    if (auto why = place_update(line, mistaken ? bulk.mistake : "", body, table, layout))
      return refused("line {} {}", line.number, *why);
  }
  return split;
}

}  // namespace karmad
