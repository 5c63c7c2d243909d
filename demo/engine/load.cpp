#include "demo/engine/load.hpp"

#include <rapidjson/document.h>
#include <rapidjson/istreamwrapper.h>

#include <fstream>

#include "demo/engine/change.hpp"

namespace karmad {

std::optional<std::vector<Document>> load_documents(const std::string& path, std::uint64_t shard) {
  std::ifstream file(path);
  rapidjson::IStreamWrapper stream(file);
  rapidjson::Document json;
  json.ParseStream<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(stream);
  if (json.HasParseError() || !json.IsArray()) return std::nullopt;
  std::vector<std::string> columns;
  std::vector<std::pair<std::uint64_t, std::vector<Given>>> chosen;
  for (const auto& item : json.GetArray()) {
    const auto* id = item.IsObject() ? find_member(item, "id") : nullptr;
    if (id == nullptr || !id->IsUint64()) return std::nullopt;
    const auto* its_shard = find_member(item, "shard");
    const auto* inner = find_member(item, "doc");
    auto given = read_given(inner != nullptr && inner->IsObject() ? *inner : item);
    std::erase_if(given, [](const Given& one) { return one.column == "id" || one.column == "shard"; });
    for (const auto& one : given) columns.push_back(one.column);
    if (shard == 0 || (its_shard != nullptr && its_shard->IsUint64() && its_shard->GetUint64() == shard))
      chosen.emplace_back(id->GetUint64(), std::move(given));
  }
  choose_columns(columns);
  std::vector<Document> out;
  for (const auto& [id, given] : chosen) {
    Complaint complaint;
    auto document = document_of({.given = given, .ids = {id}}, complaint);
    if (complaint) return std::nullopt;
    out.push_back(std::move(document));
  }
  return out;
}

}  // namespace karmad
