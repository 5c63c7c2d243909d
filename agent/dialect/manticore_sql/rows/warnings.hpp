#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace karmad {

/// The warning of a merged answer, plain text: what the balancer, the shards and the merge say.
class Warnings {
 public:
  /// `own`: the balancer's.
  explicit Warnings(std::string_view own) : text_(own) {}

  void add(std::string_view text);
  /// `escaped`: inside of a JSON string. Empty texts are ignored.
  void add_of_shard(std::size_t shard, std::string_view escaped);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace karmad
