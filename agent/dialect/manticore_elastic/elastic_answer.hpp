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

/// Appends a merged answer of `/search` in the Elasticsearch-like form: ids are strings, hits name
/// their table `index`. `answer` is one that karmad has written.
void append_elastic_hits(std::string& out, std::string_view answer, std::string_view index,
                         ElasticShards shards);

/// Appends the answer of a count, from a merged answer of `/search`.
void append_elastic_count(std::string& out, std::string_view answer, ElasticShards shards);

}  // namespace karmad
