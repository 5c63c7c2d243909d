#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fake_mirror.hpp"
#include "tests/support/process.hpp"

namespace karmad::test {

/// What becomes of a reply: it is taken, the other mirror is asked, or time runs out (a query that
/// timed out is not put again). `begun`: its beginning is passed on before it stops (OpenAnswers).
enum class End { taken, elsewhere, timeout, begun };

/// The unit of long replies: a million bytes, and a quarter of that under sanitizers, which need
/// much more time per byte.
inline const std::size_t kMillion = karmad_is_sanitized() ? 250'000 : 1'000'000;

/// A reply of a mirror, and what karmad makes of it.
struct OddReply {
  std::string name;
  Reaction reaction;
  End whole;            ///< for tables of one shard, whose answers pass through
  End merged;           ///< for tables of several, whose answers are read
  End opaque;           ///< for dialect http
  const char* counter;  ///< of the agent's status, where it is not taken
  bool at_head = false;
};

/// A search answer with one hit of this source.
inline std::string hit(std::string_view source) {
  return fmt::format(R"({{"took":1,"timed_out":false,"hits":{{"total":1,"total_relation":"eq",)"
                     R"("hits":[{{"_id":1,"_score":1,"_source":{}}}]}}}})",
                     source);
}
inline const std::string kBody = hit(R"({"from":"nasty"})");

/// Replies that are unusual, wrong, cut, late, or errors.
std::vector<OddReply> odd_replies();

}  // namespace karmad::test
