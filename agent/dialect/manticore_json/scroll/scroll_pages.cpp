#include "agent/dialect/manticore_json/scroll/scroll_pages.hpp"

#include "agent/dialect/manticore_json/parse_part.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

std::optional<ScrollKey> scroll_key(std::string_view attribute, bool descending,
                                    std::string_view value) {
  ScrollKey read{.attribute = std::string(attribute), .descending = descending};
  if (value.empty() || is_object(value) || is_array(value) || value == "null") return std::nullopt;
  read.type = "int";
  if (value == "true" || value == "false") {
    read.value = value == "true" ? "1" : "0";
    return read;
  }
  read.value = value;
  if (is_string(value)) {
    if (attribute == "id")
      read.value = without_quotes(value);  // digits
    else
      read.type = "string";
  } else if (value.find_first_of(".eE") != value.npos) {
    read.type = "float";
  }
  return read;
}

ScrollPages::ScrollPages(const ScrollPlace& place, std::string_view sort)
    : signer_(place.key),
      position_{
          .table = std::string(place.table), .shards = place.shards, .sort = std::string(sort)} {}

std::expected<ScrollPages, ClientError> ScrollPages::behind(std::string_view token,
                                                            const ScrollPlace& place) {
  ScrollPages page(place, {});
  page.given_ = token;
  auto read = page.signer_.read(token);
  if (!read) return std::unexpected(read.error());
  page.position_ = *std::move(read);
  if (auto why = why_not_continued(page.position_, place.table, place.shards))
    return std::unexpected(*std::move(why));
  return page;
}

bool ScrollPages::prefers(std::size_t shard, std::string_view mirror) const {
  return shard < position_.mirrors.size() && !position_.mirrors[shard].empty() &&
         position_.mirrors[shard] == signer_.digest(mirror);
}

std::string ScrollPages::next_token(std::vector<ScrollKey> keys,
                                    std::span<const ShardReply> replies) const {
  ScrollPosition next{.table = position_.table,
                      .shards = position_.shards,
                      .sort = position_.sort,
                      .keys = std::move(keys)};
  for (std::size_t shard = 0; shard < replies.size(); ++shard) {
    const auto mirror = replies[shard].mirror;
    if (!mirror.empty())
      next.mirrors.push_back(signer_.digest(mirror));
    else
      next.mirrors.push_back(shard < position_.mirrors.size() ? position_.mirrors[shard] : "");
  }
  return signer_.token(next).value_or("");
}

}  // namespace karmad
