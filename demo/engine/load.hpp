#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "demo/data/index.hpp"

namespace karmad {

/// Reads a file with a JSON list of documents {"id":…, "shard":…, "doc":{column: value, …}}, whose
/// columns may also stand beside the id, and makes the columns of the file those of the table.
/// Holds those of one shard, of all with 0, in the order of the file. The frequencies of words are
/// those of the documents that it holds, or with `whole_frequencies` of all. Nothing for a file
/// that is none.
std::optional<Index> load_documents(const std::string& path, std::uint64_t shard,
                                    bool whole_frequencies);

}  // namespace karmad
