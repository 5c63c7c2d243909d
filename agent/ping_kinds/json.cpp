#include "agent/ping_kinds/json.hpp"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <string>

namespace karmad {
namespace {

constexpr unsigned kMaxDepth = 32;  // Solr's cluster state, the deepest one, needs nine

constexpr unsigned kParse = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag |
                            rapidjson::kParseValidateEncodingFlag;

using rapidjson::Document;
using rapidjson::SizeType;

/// Forwards every token to the document, up to the allowed depth.
class Bounded {
 public:
  explicit Bounded(Document& to) : to_(to) {}

  bool Null() { return to_.Null(); }
  bool Bool(bool value) { return to_.Bool(value); }
  bool Int(int value) { return to_.Int(value); }
  bool Uint(unsigned value) { return to_.Uint(value); }
  bool Int64(std::int64_t value) { return to_.Int64(value); }
  bool Uint64(std::uint64_t value) { return to_.Uint64(value); }
  bool Double(double value) { return to_.Double(value); }
  bool RawNumber(const char* text, SizeType size, bool copy) {
    return to_.RawNumber(text, size, copy);
  }
  bool String(const char* text, SizeType size, bool copy) { return to_.String(text, size, copy); }
  bool Key(const char* text, SizeType size, bool copy) { return to_.Key(text, size, copy); }
  bool StartObject() { return ++depth_ <= kMaxDepth && to_.StartObject(); }
  bool StartArray() { return ++depth_ <= kMaxDepth && to_.StartArray(); }
  bool EndObject(SizeType members) {
    --depth_;
    return to_.EndObject(members);
  }
  bool EndArray(SizeType elements) {
    --depth_;
    return to_.EndArray(elements);
  }

 private:
  Document& to_;
  unsigned depth_ = 0;
};

}  // namespace

std::optional<Document> parse_answer(std::string_view json) {
  Document out;
  bool whole = false;
  auto read = [&](Document& into) {
    Bounded bounded(into);
    rapidjson::MemoryStream stream(json.data(), json.size());
    rapidjson::Reader reader;
    whole = !reader.Parse<kParse>(stream, bounded).IsError() &&
            stream.Tell() == json.size();  // the parser takes a zero byte as the end
    return whole;
  };
  out.Populate(read);
  if (!whole) return std::nullopt;
  return out;
}

const rapidjson::Value* member(const rapidjson::Value& of, std::string_view name) {
  const auto* found = member_of(&of, name);
  return found == nullptr || found->IsNull() ? nullptr : found;
}

bool add_reported_tag(Tags& tags, std::string_view name, std::string_view value) {
  const auto at = std::ranges::lower_bound(tags, name, {}, &Tag::name);
  if (at != tags.end() && at->name == name) return true;
  if (tags.size() == kMaxTags) return false;
  tags.insert(at, Tag{std::string(name), std::string(value)});
  return true;
}

}  // namespace karmad
