#include "agent/dialect/request/document_ids.hpp"

#include <fmt/format.h>
#include <charconv>

#include "agent/json/json_text.hpp"

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

std::uint64_t splitmix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::optional<DocumentId> DocumentId::of_number(std::string_view text) {
  const auto* const end = text.data() + text.size();
  std::uint64_t key = 0;
  std::from_chars_result read{};
  if (text.starts_with('-')) {
    std::int64_t negative = 0;
    read = std::from_chars(text.data(), end, negative);
    key = static_cast<std::uint64_t>(negative);
  } else {
    read = std::from_chars(text.data(), end, key);
  }
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  if (key == 0) return DocumentId(key, Kind::missing);
  return DocumentId(key, text.starts_with('-') ? Kind::other : Kind::whole);
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
