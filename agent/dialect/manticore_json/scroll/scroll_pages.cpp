#include "agent/dialect/manticore_json/scroll/scroll_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "agent/dialect/manticore_json/sort_plan.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// How far a real number of a shard may be from its printed value: six decimals, and 24 bits of
/// precision in a comparison.
double vagueness(double value) {
  return std::max(2e-6, std::abs(value) * 0x1p-22);
}

std::optional<double> real_value(const ScrollKey& key) {
  double value = 0;
  const auto* const end = key.value.data() + key.value.size();
  if (key.type != "float") return std::nullopt;
  const auto read = std::from_chars(key.value.data(), end, value);
  return read.ec == std::errc{} && read.ptr == end ? std::optional(value) : std::nullopt;
}

/// Whether the values may be equal in the order of the shards: a collation may ignore the case.
bool may_tie(const ScrollKey& a, const ScrollKey& b) {
  return same_attribute(json_unescaped(a.value), json_unescaped(b.value));
}

bool is_exact(const ScrollKey& key) {
  return key.type == "int" || key.type == "string";
}

/// Finds the row behind which the shards can continue.
class ScrollBorder {
 public:
  explicit ScrollBorder(const ScrolledPage& page) : page_(page) {
    while (exact_ < page_.keys && is_exact(at(page_.rows - 1, exact_))) ++exact_;
  }

  /// Sets where the page behind this one begins.
  void move(ScrollPosition& position) const {
    if (exact_ == page_.keys) return put(position, keys_of(page_.rows - 1), 0);
    for (auto begin = page_.rows - 1; begin > 0; --begin) {
      if (!is_apart(begin - 1, begin)) continue;
      auto keys = keys_of(begin);
      const auto value = real_value(keys[exact_]);
      if (!value ||
          !std::ranges::all_of(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(exact_),
                               is_exact) ||
          std::ranges::any_of(keys, &std::string::empty, &ScrollKey::type))
        continue;
      const auto before = keys[exact_].descending ? vagueness(*value) : -vagueness(*value);
      keys[exact_].value = fmt::format("{:.12g}", *value + before);
      return put(position, std::move(keys), page_.rows - begin);
    }
    position.skip = page_.before + page_.rows;
  }

 private:
  ScrollKey at(std::size_t row, std::size_t key) const { return page_.value(row, key); }

  std::vector<ScrollKey> keys_of(std::size_t row) const {
    std::vector<ScrollKey> keys;
    for (std::size_t k = 0; k < page_.keys; ++k) keys.push_back(at(row, k));
    return keys;
  }

  /// Whether every shard has the rows in that order, too: they differ in the exact keys, or by more
  /// than what is not printed of the next one.
  bool is_apart(std::size_t row, std::size_t next) const {
    for (std::size_t k = 0; k < exact_; ++k)
      if (!may_tie(at(row, k), at(next, k))) return true;
    const auto one = real_value(at(row, exact_));
    const auto other = real_value(at(next, exact_));
    return one && other &&
           std::abs(*one - *other) >= 2 * std::max(vagueness(*one), vagueness(*other));
  }

  static void put(ScrollPosition& position, std::vector<ScrollKey> keys, std::size_t skip) {
    position.keys = std::move(keys);
    position.skip = skip;
  }

  const ScrolledPage& page_;
  std::size_t exact_ = 0;  ///< first keys that are exact in the last row
};

}  // namespace

namespace {

/// An id as the signed number by which servers order it; they show it as an unsigned one.
std::string signed_id(std::string_view digits) {
  std::uint64_t id = 0;
  const auto* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, id);
  if (read.ec != std::errc{} || read.ptr != end) return std::string(digits);
  return fmt::to_string(static_cast<std::int64_t>(id));
}

}  // namespace

ScrollKey scroll_key(std::string_view attribute, bool descending, std::string_view value) {
  ScrollKey read{.attribute = std::string(attribute), .descending = descending};
  if (value.empty() || is_object(value) || is_array(value) || value == "null") return read;
  read.type = "int";
  if (value == "true" || value == "false") {
    read.value = value == "true" ? "1" : "0";
    return read;
  }
  if (attribute == "id") {
    read.value = signed_id(is_string(value) ? without_quotes(value) : value);
    return read;
  }
  read.value = value;
  if (is_string(value)) {
    read.type = "string";
  } else if (value.find_first_of(".eE") != value.npos) {
    read.type = "float";
  }
  return read;
}

ScrollPages::ScrollPages(const ScrollPlace& place, std::string_view sort)
    : signer_(place.key),
      position_{.table = std::string(place.table),
                .shards = place.shards,
                .sort = std::string(sort),
                .language = std::string(place.language)} {}

std::expected<ScrollPages, ClientError> ScrollPages::behind(std::string_view token,
                                                            const ScrollPlace& place) {
  ScrollPages page(place, {});
  page.given_ = token;
  auto read = page.signer_.read(token);
  if (!read) return std::unexpected(read.error());
  page.position_ = *std::move(read);
  if (auto why = check_scroll_place(page.position_, place)) return std::unexpected(*std::move(why));
  return page;
}

bool ScrollPages::prefers(std::size_t shard, std::string_view mirror) const {
  return shard < position_.mirrors.size() && !position_.mirrors[shard].empty() &&
         position_.mirrors[shard] == signer_.digest(mirror);
}

std::string ScrollPages::next_token(const ScrolledPage& page,
                                    std::span<const ShardReply> replies) const {
  auto next = position_;
  ScrollBorder(page).move(next);
  next.mirrors.resize(replies.size());
  for (std::size_t shard = 0; shard < replies.size(); ++shard)
    if (const auto mirror = replies[shard].mirror; !mirror.empty())
      next.mirrors[shard] = signer_.digest(mirror);
  return signer_.token(next).value_or("");
}

std::optional<ClientError> why_too_many_scrolled(const ScrollPages& pages, std::uint64_t limit) {
  if (pages.skip() + limit <= kMostScrolled) return std::nullopt;
  return ClientError{
      400, fmt::format("more than {} rows have nearly the same values in the order of the scroll; "
                       "sort by whole numbers, texts or the id",
                       kMostScrolled)};
}

}  // namespace karmad
