#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "demo/data/document.hpp"

namespace karmad {

/// Reads a file with a JSON list of documents {"id":…, "shard":…, "doc":{column: value, …}}, whose columns
/// may also stand beside the id. Takes those of one shard, of all with 0, in the order of the file, and makes
/// the columns of the whole file those of the table. Nothing for a file that is none.
std::optional<std::vector<Document>> load_documents(const std::string& path, std::uint64_t shard);

}  // namespace karmad
