#include "demo/engine/load.hpp"

#include <rapidjson/document.h>
#include <rapidjson/istreamwrapper.h>

#include <fstream>
#include <set>

#include "demo/engine/change.hpp"

namespace karmad {

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
    const auto* id = item.IsObject() ? find_member(item, "id") : nullptr;
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

}  // namespace karmad
