#include "demo/data/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "demo/data/text.hpp"

namespace karmad::demo {

namespace {

using D = Document;

const std::vector<Column> kCatalogue{
    {"id", &D::id, Type::bigint, {}},
    {"title", &D::title, Type::text, {}},
    {"body", &D::body, Type::text, {}},
    {"price", &D::price, Type::uint, {}},
    {"rating", &D::rating, Type::real, {}},
    {"brand", &D::brand, Type::string, {}},
    {"seller", &D::seller, Type::string, {}},
    {"tags", &D::tags, Type::multi, {}},
    {"meta", &D::meta, Type::json, {}},
    {"ts", &D::ts, Type::timestamp, {}},
    {"stock", &D::stock, Type::bigint, {}},
    {"weight", &D::weight, Type::real, {}},
    {"lat", &D::lat, Type::real, {}},
    {"lon", &D::lon, Type::real, {}},
    {"embedding", &D::embedding, Type::vector, {}},
};

/// All columns that a loaded file may have.
const std::vector<Column> kLoadable{
    {"id", &D::id, Type::bigint, {}},     {"title", &D::title, Type::text, {}},
    {"body", &D::body, Type::text, {}},   {"n", &D::n, Type::uint, {}},
    {"big", &D::big, Type::bigint, {}},   {"price", &D::cost, Type::real, {}},
    {"tiny", &D::tiny, Type::real, {}},   {"ok", &D::ok, Type::boolean, {}},
    {"ts", &D::ts, Type::timestamp, {}},  {"brand", &D::brand, Type::string, {}},
    {"city", &D::city, Type::string, {}}, {"sku", &D::sku, Type::string, {}},
    {"tags", &D::tags, Type::multi, {}},  {"mtags", &D::mtags, Type::multi64, {}},
    {"meta", &D::meta, Type::json, {}},   {"lat", &D::lat, Type::real, {}},
    {"lon", &D::lon, Type::real, {}},
};

struct ChosenColumns {
  std::vector<Column> columns = kCatalogue;
  bool loaded = false;  ///< those of a file
};

ChosenColumns& chosen() {
  static ChosenColumns columns;
  return columns;
}

/// The value of a JSON node as a scalar; of lists and objects their JSON, which `text` keeps.
Value scalar(const rapidjson::Value* node) {
  if (node == nullptr) return {};
  if (node->IsInt64()) return node->GetInt64();
  if (node->IsNumber()) return node->GetDouble();
  if (node->IsBool()) return node->GetBool();
  if (node->IsString()) return std::string_view(node->GetString(), node->GetStringLength());
  return {};
}

template <class T>
int order(T a, T b) {
  if (a == b) return 0;
  return a < b ? -1 : 1;
}

long double exact_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* is = std::get_if<bool>(&value)) return *is ? 1 : 0;
  return std::get<double>(value);
}

int rank(const Value& value) {
  return value.index() == 0 ? 0 : value.index() == 3 ? 2 : 1;
}

}  // namespace

void choose_columns(std::span<const std::string> names) {
  chosen() = {{}, true};
  std::ranges::copy_if(kLoadable, std::back_inserter(chosen().columns), [&](const Column& column) {
    return column.is_id() || std::ranges::find(names, column.name) != names.end();
  });
}

bool is_strict() {
  return chosen().loaded;
}

std::span<const Column> all_columns() {
  return chosen().columns;
}

std::string embedding_text(const Document& document) {
  if (document.embedding == std::array<float, 4>{}) return {};
  return fmt::format("{:.6f}", fmt::join(document.embedding, ","));
}

std::optional<Column> column_named(std::string_view name) {
  if (name.starts_with("meta.") && name.size() > 5)
    return Column{std::string(name), &Document::meta, Type::json, std::string(name.substr(5))};
  if (name == "_id") name = "id";
  const auto columns = all_columns();
  const auto found = std::ranges::find_if(
      columns, [&](const Column& column) { return collate(column.name, name) == 0; });
  if (found == columns.end()) return std::nullopt;
  return *found;
}

rapidjson::Document parse_object(std::string_view text) {
  rapidjson::Document out;
  out.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(text.data(),
                                                                                 text.size());
  if (out.HasParseError() || !out.IsObject()) out.SetNull();
  return out;
}

Meta read_meta(std::string_view text) {
  auto out = std::make_shared<rapidjson::Document>(parse_object(text));
  return out->IsObject() ? out : nullptr;
}

const rapidjson::Value* member_at(const Document& document, const Column& column) {
  const rapidjson::Value* at = (document.*std::get<Meta Document::*>(column.at)).get();
  std::string_view path = column.member;
  while (at != nullptr && !path.empty()) {
    const auto end = path.find_first_of(".[", 1);
    auto step = path.substr(0, end);
    path = end == path.npos ? std::string_view{} : path.substr(end);
    if (step.starts_with('.')) step.remove_prefix(1);
    const auto place = step.starts_with('[') && step.ends_with(']')
                           ? number_of<unsigned>(step.substr(1, step.size() - 2))
                           : std::nullopt;
    if (place) {
      at = at->IsArray() && *place < at->Size() ? &(*at)[*place] : nullptr;
      continue;
    }
    if (!at->IsObject()) return nullptr;
    const auto found = at->FindMember(
        rapidjson::Value(step.data(), static_cast<rapidjson::SizeType>(step.size())));
    at = found == at->MemberEnd() ? nullptr : &found->value;
  }
  return at;
}

Value view(const Literal& literal) {
  return std::visit([](const auto& of) -> Value { return of; }, literal);
}

Literal to_literal(const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* is = std::get_if<bool>(&value)) return *is;
  return {};
}

int compare(const Value& a, const Value& b) {
  if (rank(a) != rank(b)) return order(rank(a), rank(b));
  if (rank(a) == 0) return 0;
  if (rank(a) == 2) return collate(std::get<std::string_view>(a), std::get<std::string_view>(b));
  if (a.index() == 1 && b.index() == 1)
    return order(std::get<std::int64_t>(a), std::get<std::int64_t>(b));
  return order(exact_number(a), exact_number(b));
}

Value numeric(const Value& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  if (text == nullptr) return value;
  if (const auto whole = number_of<std::int64_t>(*text)) return *whole;
  return number_of<double>(*text).value_or(0);
}

std::string sort_text(const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.6f}", *real);
  return {};
}

std::string stored_text(const Value& value) {
  const auto* is = std::get_if<bool>(&value);
  return is == nullptr ? sort_text(value) : *is ? "1" : "0";
}

int member_order(const Value& a, const Value& b) {
  if (rank(a) == 0 || rank(b) == 0) return order(rank(a), rank(b));
  return order(stored_text(a), stored_text(b));
}

Value value_of(const Document& document, const Column& column) {
  if (column.type == Type::json) return scalar(member_at(document, column));
  return std::visit(
      [&](auto place) -> Value {
        const auto& value = document.*place;
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_integral_v<T>)
          return static_cast<std::int64_t>(value);
        else if constexpr (std::is_same_v<T, float>)
          return double{value};
        else if constexpr (std::is_same_v<T, std::string>)
          return std::string_view(value);
        else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
          return value.empty() ? Value{} : Value{value.front()};
        else
          return {};  // no single value
      },
      column.at);
}

std::vector<Value> values_of(const Document& document, const Column& column) {
  std::vector<Value> out;
  if (const auto* list = std::get_if<std::vector<std::int64_t> Document::*>(&column.at)) {
    const auto& values = document.**list;
    out.assign(values.begin(), values.end());
    return out;
  }
  if (column.type == Type::json) {
    const auto* node = member_at(document, column);
    if (node != nullptr && node->IsArray()) {
      for (const auto& item : node->GetArray()) out.push_back(scalar(&item));
      return out;
    }
  }
  auto value = value_of(document, column);
  if (rank(value) == 0) return {};
  return {value};
}

void append_json(std::string& out, const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    append_quoted(out, *text);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    fmt::format_to(std::back_inserter(out), "{}", *whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    out += float_text(*real);
  } else if (const auto* is = std::get_if<bool>(&value)) {
    out += *is ? "true" : "false";
  } else {
    out += "null";
  }
}

void append_json(std::string& out, const rapidjson::Value& value) {
  if (value.IsObject()) {
    out += '{';
    for (const auto& member : value.GetObject()) {
      if (out.back() != '{') out += ',';
      append_quoted(out, {member.name.GetString(), member.name.GetStringLength()});
      out += ':';
      append_json(out, member.value);
    }
    out += '}';
  } else if (value.IsArray()) {
    out += '[';
    for (const auto& item : value.GetArray()) {
      if (out.back() != '[') out += ',';
      append_json(out, item);
    }
    out += ']';
  } else {
    append_json(out, scalar(&value));
  }
}

void append_json(std::string& out, const Document& document, const Column& column) {
  if (const auto* list = std::get_if<std::vector<std::int64_t> Document::*>(&column.at)) {
    fmt::format_to(std::back_inserter(out), "[{}]", fmt::join(document.**list, ","));
  } else if (column.type == Type::vector) {
    fmt::format_to(std::back_inserter(out), "[{}]", embedding_text(document));
  } else if (column.type == Type::json) {
    const auto* node = member_at(document, column);
    node == nullptr ? void(out += "null") : append_json(out, *node);
  } else if (column.type == Type::boolean) {
    append_json(out, Value{value_of(document, column) == Value{std::int64_t{1}}});
  } else {
    append_json(out, value_of(document, column));
  }
}

}  // namespace karmad::demo
