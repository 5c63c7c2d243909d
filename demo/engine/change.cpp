#include "demo/engine/change.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/istreamwrapper.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "demo/data/text.hpp"

namespace karmad::demo {

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

std::vector<std::int64_t> as_tags(const std::vector<Literal>& values) {
  std::vector<std::int64_t> out;
  for (const auto& value : values) out.push_back(as_whole(value));
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

Json json_of(const Literal& literal, rapidjson::Document::AllocatorType& memory) {
  if (const auto* whole = std::get_if<std::int64_t>(&literal)) return Json(*whole);
  if (const auto* real = std::get_if<double>(&literal)) return Json(*real);
  if (const auto* is = std::get_if<bool>(&literal)) return Json(*is);
  if (const auto* text = std::get_if<std::string>(&literal)) return Json(*text, memory);
  return {};
}

/// The JSON object with another value of a member, or without it.
Meta with_member(const Meta& meta, std::string_view path, const Literal& literal) {
  auto out = std::make_shared<rapidjson::Document>();
  auto& memory = out->GetAllocator();
  meta == nullptr ? void(out->SetObject()) : void(out->CopyFrom(*meta, memory));
  const auto copy = [&](std::string_view name) {
    return Json(name.data(), static_cast<rapidjson::SizeType>(name.size()), memory);
  };
  Json* at = out.get();
  for (;;) {
    const auto dot = path.find('.');
    const auto step = path.substr(0, dot);
    const Json key(step.data(), static_cast<rapidjson::SizeType>(step.size()));
    auto found = at->FindMember(key);
    if (dot == path.npos) {
      if (found != at->MemberEnd()) at->EraseMember(found);
      if (!std::holds_alternative<std::monostate>(literal))
        at->AddMember(copy(step), json_of(literal, memory), memory);
      return out;
    }
    if (found == at->MemberEnd()) at->AddMember(copy(step), Json(rapidjson::kObjectType), memory);
    at = &(*at)[key];
    if (!at->IsObject()) at->SetObject();
    path.remove_prefix(dot + 1);
  }
}

bool put_meta(Document& document, const Column& column, const Given& given) {
  auto& meta = document.*std::get<Meta Document::*>(column.at);
  if (!column.member.empty()) {
    meta = with_member(meta, column.member, given.values.empty() ? Literal{} : given.values[0]);
    return true;
  }
  const auto text = given.values.empty() ? std::string() : stored_text(view(given.values[0]));
  meta = read_meta(text);
  return meta != nullptr || text.empty();
}

bool put_embedding(std::array<float, 4>& to, const std::vector<Literal>& values) {
  if (!values.empty() && values.size() != to.size()) return false;
  to = {};
  std::ranges::transform(values, to.begin(), as_real);
  return true;
}

/// False: the value does not fit the column.
bool put(Document& document, const Column& column, const Given& given) {
  if (column.is_id()) return true;
  if (column.type == Type::json) return put_meta(document, column, given);
  const Literal value = given.values.empty() ? Literal{} : given.values[0];
  std::visit(
      [&](auto place) {
        auto& to = document.*place;
        using T = std::decay_t<decltype(to)>;
        if constexpr (std::is_integral_v<T>)
          to = static_cast<T>(as_whole(value));
        else if constexpr (std::is_same_v<T, float>)
          to = as_real(value);
        else if constexpr (std::is_same_v<T, std::string>)
          to = stored_text(view(value));
        else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
          to = as_tags(given.values);
      },
      column.at);
  const auto* vector = std::get_if<std::array<float, 4> Document::*>(&column.at);
  return vector == nullptr || put_embedding(document.**vector, given.values);
}

/// Puts all given values; a complaint leaves the document half changed.
void put_all(Document& document, const RowChange& change, Complaint& complaint) {
  const bool is_update = change.kind == RowChange::Kind::update;
  for (const auto& given : change.given) {
    const auto column = column_named(given.column);
    if (!column && is_update) {
      complaint.say(409, "table {}: attribute '{}' not found", change.table, given.column);
    } else if (!column) {
      complaint.say(409, "unknown column: '{}'", given.column);
    } else if (is_update && (column->type == Type::text || column->is_id())) {
      complaint.say(409, "table {}: attribute '{}' can not be updated", change.table, given.column);
    } else if (!put(document, *column, given)) {
      complaint.say(409, "table {}: invalid value of '{}'", change.table, given.column);
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

/// Updates change members of JSON, but add none.
bool lacks(const Document& document, const Given& given) {
  const auto column = column_named(given.column);
  return column && !column->member.empty() && member_at(document, *column) == nullptr;
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
    complaint.say(409, "duplicate id '{}'", out.id);
  auto document = document_of(change, complaint);
  if (complaint) return out;
  if (out.id == 0) out.id = index.choose_id();
  document.id = out.id;
  remember(index, out.id, undo);
  index.put(std::move(document));
  out.rows = 1;
  return out;
}

}  // namespace

Document document_of(const RowChange& change, Complaint& complaint) {
  Document out;
  out.id = change.ids.empty() ? 0 : change.ids[0];
  put_all(out, change, complaint);
  return out;
}

Changed change_rows(Index& index, const RowChange& change, Complaint& complaint, Undo* undo) {
  if (change.kind == RowChange::Kind::insert || change.kind == RowChange::Kind::replace)
    return add_row(index, change, complaint, undo);
  Changed out;
  if (!change.ids.empty()) out.id = change.ids.back();
  Document probe;
  if (change.kind != RowChange::Kind::erase) put_all(probe, change, complaint);
  if (complaint) return out;
  const std::string why = "1 attribute(s) can not be updated (not found or incompatible types)";
  for (const auto id : wanted_ids(index, change)) {
    auto part = change;
    if (change.kind == RowChange::Kind::update && is_strict()) {
      const auto& document = index.documents()[*index.position_of(id)];
      if (std::erase_if(part.given, [&](const Given& given) { return lacks(document, given); }) !=
          0)
        out.warning = why;
      if (part.given.empty()) continue;
    }
    remember(index, id, undo);
    out.id = id;
    ++out.rows;
    if (change.kind == RowChange::Kind::erase) {
      index.erase(id);
      continue;
    }
    auto document = index.documents()[*index.position_of(id)];
    put_all(document, part, complaint);
    index.put(std::move(document));
  }
  if (!out.warning.empty() && out.rows == 0) complaint.say(409, "table {}: {}", change.table, why);
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

std::vector<Given> read_given(const Json& json) {
  std::vector<Given> out;
  for (const auto& member : json.GetObject()) {
    Given given{std::string(text_of(member.name)), {}};
    if (member.value.IsArray()) {
      for (const auto& item : member.value.GetArray()) given.values.push_back(literal_of(item));
    } else if (member.value.IsObject()) {
      given.values.emplace_back(json_text(member.value));
    } else if (!member.value.IsNull()) {
      given.values.push_back(literal_of(member.value));
    }
    out.push_back(std::move(given));
  }
  return out;
}

std::optional<Index> load_documents(const std::string& path, std::uint64_t shard,
                                    bool whole_frequencies) {
  std::ifstream file(path);
  rapidjson::IStreamWrapper stream(file);
  rapidjson::Document json;
  json.ParseStream<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(stream);
  if (json.HasParseError() || !json.IsArray()) return std::nullopt;
  std::vector<std::string> columns;
  std::vector<RowChange> rows;
  std::set<std::uint64_t> held;
  for (const auto& item : json.GetArray()) {
    const auto* id = find_member(item, "id");
    if (id == nullptr || !id->IsUint64()) return std::nullopt;
    const auto* its_shard = find_member(item, "shard");
    const auto* inner = find_member(item, "doc");
    RowChange row{.given = read_given(inner != nullptr && inner->IsObject() ? *inner : item),
                  .ids = {id->GetUint64()}};
    std::erase_if(row.given,
                  [](const Given& one) { return one.column == "id" || one.column == "shard"; });
    for (const auto& one : row.given) columns.push_back(one.column);
    if (shard == 0 ||
        (its_shard != nullptr && its_shard->IsUint64() && its_shard->GetUint64() == shard))
      held.insert(row.ids[0]);
    rows.push_back(std::move(row));
  }
  choose_columns(columns);
  std::vector<Document> documents;
  const auto holds = [&](const Document& document) { return held.contains(document.id); };
  for (const auto& row : rows) {
    Complaint complaint;
    auto document = document_of(row, complaint);
    if (complaint) return std::nullopt;
    if (whole_frequencies || holds(document)) documents.push_back(std::move(document));
  }
  auto out = Index::chosen(documents, holds);
  out.stop_early();
  return out;
}

}  // namespace karmad::demo
