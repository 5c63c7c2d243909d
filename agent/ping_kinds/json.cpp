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

/// A document that takes tokens up to the allowed depth only.
class Bounded : public Document {
 public:
  bool StartObject() { return ++depth_ <= kMaxDepth && Document::StartObject(); }
  bool StartArray() { return ++depth_ <= kMaxDepth && Document::StartArray(); }
  bool EndObject(SizeType members) {
    --depth_;
    return Document::EndObject(members);
  }
  bool EndArray(SizeType elements) {
    --depth_;
    return Document::EndArray(elements);
  }

 private:
  unsigned depth_ = 0;
};

}  // namespace

std::optional<Document> parse_answer(std::string_view json) {
  Bounded out;
  bool whole = false;
  auto read = [&](Document&) {
    rapidjson::MemoryStream stream(json.data(), json.size());
    rapidjson::Reader reader;
    whole = !reader.Parse<kParse>(stream, out).IsError() &&
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
