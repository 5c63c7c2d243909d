#include "agent/dialect/request/document_ids.hpp"

#include <fmt/format.h>

#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

namespace {

/// FNV-1a of 64 bits.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

bool depends_on_id(const ShardLayout& layout) {
  return layout.shards > 1 || layout.copies;
}

}  // namespace

std::optional<DocumentId> DocumentId::of_number(std::string_view text) {
  if (text.starts_with('-')) {
    const auto negative = number_in<std::int64_t>(text);
    if (!negative) return std::nullopt;
    return DocumentId(static_cast<std::uint64_t>(*negative),
                      *negative == 0 ? Kind::missing : Kind::other);
  }
  const auto key = number_in<std::uint64_t>(text);
  if (!key) return std::nullopt;
  return DocumentId(*key, *key == 0 ? Kind::missing : Kind::whole);
}

DocumentId DocumentId::of_text(std::string_view text) {
  if (const auto number = of_number(text)) return *number;
  return {fnv1a(text), text.empty() ? Kind::missing : Kind::other};
}

bool needs_made_id(const std::optional<DocumentId>& id, const ShardLayout& layout) {
  return depends_on_id(layout) && (!id || id->is_missing());
}

std::optional<std::string> check_document_id(const std::optional<DocumentId>& id,
                                             const ShardLayout& layout, std::string_view shown) {
  if (!depends_on_id(layout) || !id || id->is_missing() || id->is_kept()) return std::nullopt;
  return fmt::format(
      "gives a new document the id {}; an id is a whole number from 1 to 18446744073709551615 in "
      "digits",
      clean_utf8(shortened_utf8(shown)));
}

}  // namespace karmad
