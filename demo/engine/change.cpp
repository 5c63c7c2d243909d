#include "demo/engine/change.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <cmath>

#include "demo/data/text.hpp"

namespace karmad {

namespace {

std::int64_t as_whole(const Literal& literal) {
  if (const auto* whole = std::get_if<std::int64_t>(&literal)) return *whole;
  if (const auto* real = std::get_if<double>(&literal))
    return std::abs(*real) < 9e18 ? static_cast<std::int64_t>(*real) : 0;
  if (const auto* text = std::get_if<std::string>(&literal))
    return number_of<std::int64_t>(*text).value_or(0);
  return 0;
}

float as_real(const Literal& literal) {
  if (const auto* real = std::get_if<double>(&literal)) return static_cast<float>(*real);
  if (const auto* text = std::get_if<std::string>(&literal))
    return number_of<float>(*text).value_or(0);
  return static_cast<float>(as_whole(literal));
}

std::string as_text(const Literal& literal) {
  if (const auto* text = std::get_if<std::string>(&literal)) return *text;
  if (const auto* is = std::get_if<bool>(&literal)) return *is ? "1" : "0";
  if (const auto* whole = std::get_if<std::int64_t>(&literal)) return fmt::to_string(*whole);
  if (const auto* real = std::get_if<double>(&literal)) return fmt::format("{:.6f}", *real);
  return {};
}

std::vector<std::uint32_t> as_tags(const std::vector<Literal>& values) {
  std::vector<std::uint32_t> out;
  for (const auto& value : values) out.push_back(static_cast<std::uint32_t>(as_whole(value)));
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

void put_member(Document& document, const std::string& key, const Literal& literal) {
  std::erase_if(document.meta, [&](const MetaMember& member) { return member.key == key; });
  if (std::holds_alternative<std::monostate>(literal)) return;
  MetaMember member{key, {}};
  if (const auto* whole = std::get_if<std::int64_t>(&literal)) member.value = *whole;
  if (const auto* real = std::get_if<double>(&literal)) member.value = *real;
  if (const auto* text = std::get_if<std::string>(&literal)) member.value = *text;
  if (const auto* is = std::get_if<bool>(&literal)) member.value = *is;
  // Behind the last member of the same inner object.
  const auto within = key.substr(0, key.find('.') + 1);
  const auto is_sibling = [&](const MetaMember& other) {
    return !within.empty() && other.key.starts_with(within);
  };
  const auto last = std::find_if(document.meta.rbegin(), document.meta.rend(), is_sibling);
  document.meta.insert(last == document.meta.rend() ? document.meta.end() : last.base(), member);
}

bool put_meta(Document& document, const Column& column, const Given& given) {
  if (!column.member.empty()) {
    put_member(document, column.member, given.values.empty() ? Literal{} : given.values[0]);
    return true;
  }
  if (!given.members.empty() || given.values.empty()) {
    document.meta = given.members;
    return true;
  }
  const auto members = read_members(as_text(given.values[0]));
  if (members) document.meta = *members;
  return members.has_value();
}

bool put_embedding(Document& document, const std::vector<Literal>& values) {
  if (!values.empty() && values.size() != document.embedding.size()) return false;
  document.embedding = {};
  std::ranges::transform(values, document.embedding.begin(), as_real);
  return true;
}

/// False: the value does not fit the column.
bool put(Document& document, const Column& column, const Given& given) {
  const Literal value = given.values.empty() ? Literal{} : given.values[0];
  switch (column.of) {
    case Column::Of::id:
      return true;
    case Column::Of::title:
      document.title = as_text(value);
      return true;
    case Column::Of::body:
      document.body = as_text(value);
      return true;
    case Column::Of::price:
      document.price = static_cast<std::uint32_t>(as_whole(value));
      return true;
    case Column::Of::rating:
      document.rating = as_real(value);
      return true;
    case Column::Of::brand:
      document.brand = as_text(value);
      return true;
    case Column::Of::seller:
      document.seller = as_text(value);
      return true;
    case Column::Of::tags:
      document.tags = as_tags(given.values);
      return true;
    case Column::Of::meta:
      return put_meta(document, column, given);
    case Column::Of::ts:
      document.ts = static_cast<std::uint32_t>(as_whole(value));
      return true;
    case Column::Of::stock:
      document.stock = as_whole(value);
      return true;
    case Column::Of::weight:
      document.weight = as_real(value);
      return true;
    case Column::Of::lat:
      document.lat = as_real(value);
      return true;
    case Column::Of::lon:
      document.lon = as_real(value);
      return true;
    case Column::Of::embedding:
      return put_embedding(document, given.values);
  }
  return false;
}

/// Puts all given values; a complaint leaves the document half changed.
void put_all(Document& document, const RowChange& change, Complaint& complaint) {
  const bool is_update = change.kind == RowChange::Kind::update;
  for (const auto& given : change.given) {
    const auto column = column_named(given.column);
    if (!column) {
      complaint.say(409, is_update ? fmt::format("table {}: attribute '{}' not found", change.table,
                                                 given.column)
                                   : fmt::format("unknown column: '{}'", given.column));
    } else if (is_update && (column->type == Type::text || column->of == Column::Of::id)) {
      complaint.say(409, fmt::format("table {}: attribute '{}' can not be updated", change.table,
                                     given.column));
    } else if (!put(document, *column, given)) {
      complaint.say(409,
                    fmt::format("table {}: invalid value of '{}'", change.table, given.column));
    }
  }
}

std::vector<std::uint64_t> wanted_ids(const Index& index, const RowChange& change) {
  std::vector<std::uint64_t> out;
  for (const auto id : change.ids)
    if (index.position_of(id)) out.push_back(id);
  if (!change.where) return out;
  const auto matches = evaluate(index, *change.where);
  std::vector<std::uint64_t> found;
  for (std::size_t i = 0; i < matches.found.size(); ++i) {
    const auto id = index.documents()[i].id;
    if (matches.found[i] != 0 && (change.ids.empty() || std::ranges::find(out, id) != out.end()))
      found.push_back(id);
  }
  return found;
}

void remember(const Index& index, std::uint64_t id, Undo* undo) {
  if (undo == nullptr) return;
  const auto position = index.position_of(id);
  undo->emplace_back(id, position ? std::optional(index.documents()[*position]) : std::nullopt);
}

Changed add_row(Index& index, const RowChange& change, Complaint& complaint, Undo* undo) {
  Changed out;
  out.id = change.ids.empty() ? 0 : change.ids[0];
  out.existed = out.id != 0 && index.position_of(out.id).has_value();
  if (out.existed && change.kind == RowChange::Kind::insert)
    complaint.say(409, fmt::format("duplicate id '{}'", out.id));
  Document document;
  put_all(document, change, complaint);
  if (complaint) return out;
  if (out.id == 0) out.id = index.choose_id();
  document.id = out.id;
  remember(index, out.id, undo);
  index.put(std::move(document));
  out.rows = 1;
  return out;
}

}  // namespace

Changed change_rows(Index& index, const RowChange& change, Complaint& complaint, Undo* undo) {
  using Kind = RowChange::Kind;
  if (change.kind == Kind::insert || change.kind == Kind::replace)
    return add_row(index, change, complaint, undo);
  Changed out;
  if (!change.ids.empty()) out.id = change.ids.back();
  Document probe;
  if (change.kind != Kind::erase) put_all(probe, change, complaint);
  if (complaint) return out;
  for (const auto id : wanted_ids(index, change)) {
    remember(index, id, undo);
    out.id = id;
    ++out.rows;
    if (change.kind == Kind::erase) {
      index.erase(id);
      continue;
    }
    auto document = index.documents()[*index.position_of(id)];
    put_all(document, change, complaint);
    index.put(std::move(document));
  }
  return out;
}

void roll_back(Index& index, Undo& undo) {
  for (; !undo.empty(); undo.pop_back()) {
    auto& [id, document] = undo.back();
    if (document) {
      index.put(std::move(*document));
    } else {
      index.erase(id);
    }
  }
}

std::vector<Given> read_given(const Json& json, Complaint& complaint) {
  std::vector<Given> out;
  for (const auto& member : json.GetObject()) {
    Given given{std::string(text_of(member.name)), {}, {}};
    if (member.value.IsArray()) {
      for (const auto& item : member.value.GetArray()) given.values.push_back(literal_of(item));
    } else if (member.value.IsObject()) {
      const auto members = read_members(json_text(member.value));
      if (!members) complaint.say(409, fmt::format("invalid value of '{}'", given.column));
      given.members = members.value_or(std::vector<MetaMember>{});
    } else if (!member.value.IsNull()) {
      given.values.push_back(literal_of(member.value));
    }
    out.push_back(std::move(given));
  }
  return out;
}

std::optional<std::vector<MetaMember>> read_members(std::string_view json) {
  std::vector<MetaMember> out;
  rapidjson::Document read;
  read.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(json.data(),
                                                                                  json.size());
  if (read.HasParseError() || !read.IsObject()) return std::nullopt;
  const auto append = [&](std::string key, const Json& value) {
    const auto literal = value.IsBool() ? Literal{value.GetBool()} : literal_of(value);
    if (const auto* is = std::get_if<bool>(&literal)) out.push_back({key, *is});
    if (const auto* whole = std::get_if<std::int64_t>(&literal)) out.push_back({key, *whole});
    if (const auto* real = std::get_if<double>(&literal)) out.push_back({key, *real});
    if (const auto* text = std::get_if<std::string>(&literal)) out.push_back({key, *text});
    return !value.IsObject() && !value.IsArray();
  };
  for (const auto& member : read.GetObject()) {
    const std::string key(text_of(member.name));
    if (!member.value.IsObject()) {
      if (!append(key, member.value)) return std::nullopt;
      continue;
    }
    for (const auto& inner : member.value.GetObject())
      if (!append(fmt::format("{}.{}", key, text_of(inner.name)), inner.value)) return std::nullopt;
  }
  return out;
}

}  // namespace karmad
