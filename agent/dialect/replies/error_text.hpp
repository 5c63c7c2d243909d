#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// The text behind `table NAME: `, with which servers begin errors and warnings; all of a text that
/// does not begin so. The name is the mirror's.
std::string_view without_table(std::string_view text);

/// The same error with the client's name of the table.
std::string with_table_of_client(std::string_view error, std::string_view table);

/// A statement as a client wrote it, and as engines read it: with the same words at the same
/// offsets, but for the directions that were added.
struct ClientStatement {
  std::string_view written;
  std::string_view read;
  std::string_view table;
  std::span<const std::size_t> directions{};  ///< where: offsets in `written`, ascending

  /// The offset in `written` of one in `read`.
  std::size_t written_offset(std::size_t offset) const;
};

/// Why `statement.read` is refused, in the client's words: with the offset in `statement.written`
/// in a reason that begins with `at offset N`, and with the client's statement behind `near`.
std::string refusal_for_client(std::string reason, const ClientStatement& statement);

/// A mirror's error about a statement that was written for it, in the client's words: with the
/// client's name of the table, and behind `near` the client's statement from the place on that the
/// mirror means. `near` is left out where the client's statement has no such place; hidden columns
/// are called an expression.
std::string error_for_client(std::string_view error, const ClientStatement& statement);

/// The warning of a merged answer, plain text: what the balancer, the shards and the merge say.
/// What several shards say alike is told once, without a shard.
class Warnings {
 public:
  /// `own`: the balancer's.
  explicit Warnings(std::string_view own) { add(own); }

  void add(std::string_view text);
  /// `escaped`: inside of a JSON string. Empty texts are ignored.
  void add_of_shard(std::size_t shard, std::string_view escaped);

  std::string text() const;

 private:
  struct Told {
    std::string text;
    std::optional<std::size_t> shard;  ///< the only one that says it; none: several, or no shard
  };
  std::vector<Told> told_;
};

}  // namespace karmad
