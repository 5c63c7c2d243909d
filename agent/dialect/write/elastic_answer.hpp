#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace karmad {

/// The shards of a query, as an answer tells them.
struct ElasticShards {
  std::size_t total = 1;
  std::size_t successful = 1;
};

/// What an answer in the Elasticsearch-like form tells of a merged answer.
struct ElasticForm {
  bool only_count = false;
  std::string index;  ///< hits name it
};

/// Appends a merged answer of `/search` in the Elasticsearch-like form: ids are strings, hits name
/// their table `index`; or only the count. `answer` is one that karmad has written.
void append_elastic(std::string& out, const ElasticForm& form, std::string_view answer,
                    ElasticShards shards);

}  // namespace karmad
