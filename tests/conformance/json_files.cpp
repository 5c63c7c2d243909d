#include "tests/conformance/json_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace karmad::conformance {
namespace {

namespace fs = std::filesystem;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string test_name(const fs::path& below) {
  auto name = below.generic_string();
  for (auto& c : name)
    if (!is_alphanumeric(c)) c = '_';
  return name;
}

std::string spelled(const Json& value) {
  rapidjson::StringBuffer out;
  rapidjson::Writer writer(out);
  value.Accept(writer);
  return {out.GetString(), out.GetSize()};
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(fmt::format("cannot open {}", path.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string_view view(const Json& string) {
  return {string.GetString(), string.GetStringLength()};
}

template <class Number>
Number parsed(const Json& value, std::initializer_list<std::string_view> wrappers) {
  for (const auto wrapper : wrappers) {
    const auto* inner = field(value, wrapper);
    if (inner == nullptr || !inner->IsString()) continue;
    const auto digits = view(*inner);
    Number result{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (error == std::errc{} && end == digits.data() + digits.size()) return result;
  }
  throw std::runtime_error(fmt::format("{} is not a number", spelled(value)));
}

}  // namespace

void PrintTo(const DataFile& file, std::ostream* out) {
  *out << file.path.string();
}

fs::path data_directory() {
  const char* chosen = std::getenv("KARMAD_CONFORMANCE_DIR");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  return fs::path(KARMAD_SOURCE_DIR) / ".." / "shared" / "conformance";
}

bool data_present() {
  std::error_code ignored;
  return fs::is_directory(data_directory() / "mongodb", ignored);
}

std::vector<DataFile> files_below(std::string_view folder) {
  const auto root = data_directory() / "mongodb" / folder;
  std::vector<DataFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, error), end; entry != end && !error;
       entry.increment(error)) {
    if (entry->path().extension() != ".json") continue;
    const auto below = entry->path().lexically_relative(root).replace_extension();
    files.push_back({test_name(below), entry->path()});
  }
  std::ranges::sort(files, {}, &DataFile::name);
  return files;
}

rapidjson::Document read(const DataFile& file, std::initializer_list<std::string_view> known) {
  const auto bytes = content(file.path);
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(bytes.data(),
                                                                                      bytes.size());
  if (document.HasParseError())
    throw std::runtime_error(fmt::format("{}, byte {}: {}", file.path.string(),
                                         document.GetErrorOffset(),
                                         rapidjson::GetParseError_En(document.GetParseError())));
  if (!document.IsObject())
    throw std::runtime_error(fmt::format("{} is not an object", file.path.string()));
  for (const auto& member : document.GetObject())
    if (std::ranges::find(known, view(member.name)) == known.end())
      throw std::runtime_error(
          fmt::format("{} has an unknown field {}", file.path.string(), view(member.name)));
  return document;
}

const Json* field(const Json& object, std::string_view name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(
      Json(rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size()))));
  return found == object.MemberEnd() ? nullptr : &found->value;
}

const Json& required(const Json& object, std::string_view name) {
  const auto* found = field(object, name);
  if (found == nullptr) throw std::runtime_error(fmt::format("no {} in {}", name, spelled(object)));
  return *found;
}

std::vector<const Json*> elements(const Json& object, std::string_view name) {
  std::vector<const Json*> all;
  const auto* array = field(object, name);
  if (array == nullptr) return all;
  if (!array->IsArray()) throw std::runtime_error(fmt::format("{} is not an array", name));
  for (const auto& element : array->GetArray()) all.push_back(&element);
  return all;
}

double number(const Json& value) {
  if (value.IsNumber()) return value.GetDouble();
  return parsed<double>(value, {"$numberLong", "$numberInt", "$numberDouble"});
}

std::int64_t whole(const Json& value) {
  if (value.IsInt64()) return value.GetInt64();
  return parsed<std::int64_t>(value, {"$numberLong", "$numberInt"});
}

std::string object_id(const Json& value) {
  const auto* inner = field(value, "$oid");
  return text(inner != nullptr ? *inner : value);
}

std::string text(const Json& value) {
  if (!value.IsString()) throw std::runtime_error(fmt::format("{} is no string", spelled(value)));
  return std::string(view(value));
}

}  // namespace karmad::conformance
