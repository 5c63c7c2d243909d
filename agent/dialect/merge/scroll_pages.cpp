#include "agent/dialect/merge/merge_steps.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/json_tree.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kCodeBytes = 32;
constexpr std::string_view kBeforeCode = R"(,"code":")";
constexpr std::string_view kAfterCode = R"("})";
constexpr std::size_t kDigestLetters = 16;

/// `purpose` separates the codes of tokens from those of mirrors.
std::string code_of(std::string_view key, std::string_view purpose, std::string_view text) {
  std::string input(purpose);
  input.append(1, '\0').append(text);
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned size = 0;
  const auto* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(input.data()), input.size(), code.data(), &size);
  if (made == nullptr || size != kCodeBytes) throw std::runtime_error("HMAC-SHA256 failed");
  return fmt::format("{:02x}", fmt::join(std::span(code).first(size), ""));
}

const std::string& key_of_process() {
  static const std::string key = [] {
    std::array<unsigned char, kCodeBytes> bytes{};
    if (RAND_bytes(bytes.data(), kCodeBytes) != 1) throw std::runtime_error("no random bytes");
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  return key;
}

/// The members that the search server's own tokens have. `before`: keys in front of the others.
void add_order(std::string& to, const std::vector<ScrollKey>& keys, std::string_view order = {},
               std::string_view before = {}) {
  JsonLine out(to);
  out.add(R"("order_by_str":")");
  out.add_escaped(order);
  for (const auto& key : keys) {
    if (!order.empty()) break;
    if (&key != keys.data()) out.add(", ");
    out.add_escaped(key.attribute == "weight()" ? "@weight" : key.attribute);
    out.add(key.descending ? " desc" : " asc");
  }
  out.add(R"(","order_by":[)", before);
  for (const auto& key : keys)
    out.add(&key == keys.data() ? R"({"attr":)" : R"(,{"attr":)", Quoted(key.attribute),
            key.descending ? R"(,"desc":true,"value":)" : R"(,"desc":false,"value":)", key.value,
            R"(,"type":)", Quoted(key.type), '}');
  out.add(']');
}

std::unexpected<ClientError> bad_scroll_token(std::string_view why) {
  return refused(
      fmt::format("the scroll token {}; start again with the scroll option set to true", why));
}

/// The position in a text whose code was right.
std::optional<ScrollPosition> position_in(std::string_view text) {
  rapidjson::Document read;
  read.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(text.data(),
                                                                                  text.size());
  if (read.HasParseError()) return std::nullopt;
  const auto* const shards = member_of(&read, "shards");
  const auto* const skip = member_of(&read, "skip");
  const auto* const order = member_of(&read, "order_by");
  const auto* const mirrors = member_of(&read, "mirrors");
  if (shards == nullptr || !shards->IsUint() || skip == nullptr || !skip->IsUint64() ||
      order == nullptr || !order->IsArray() || mirrors == nullptr || !mirrors->IsArray())
    return std::nullopt;
  ScrollPosition position{.table = std::string(text_member(read, "table")),
                          .shards = shards->GetUint(),
                          .sort = std::string(text_member(read, "sort")),
                          .language = std::string(text_member(read, "language")),
                          .skip = skip->GetUint64()};
  for (const auto& each : order->GetArray()) {
    const auto* const value = member_of(&each, "value");
    const auto* const descending = member_of(&each, "desc");
    if (value == nullptr || descending == nullptr) return std::nullopt;
    position.keys.push_back({.attribute = std::string(text_member(each, "attr")),
                             .descending = descending->IsTrue(),
                             .type = std::string(text_member(each, "type")),
                             .value = json_of(*value)});
  }
  for (const auto& mirror : mirrors->GetArray()) position.mirrors.emplace_back(text_of(&mirror));
  return position;
}

}  // namespace

std::string server_token(const std::vector<ScrollKey>& keys, std::string_view order) {
  // Servers also filter by the first key, and with a real number leave out rows: a weight, whether
  // or not the order has one, is such a filter that leaves out none.
  constexpr std::string_view kAnyWeight =
      R"x({"attr":"weight()","desc":false,"value":0,"type":"int"},)x";
  const bool is_real = !keys.empty() && keys.front().type == "float";
  std::string text = "{";
  add_order(text, keys, order, is_real ? kAnyWeight : "");
  return base64_of(text += '}');
}

bool is_server_token(std::string_view token) {
  return bytes_of_base64(token).value_or("").starts_with(R"({"order_by_str")");
}

namespace {

/// A token, base64 of JSON that ends with a code which only this key makes. Nothing: it would be
/// too long.
std::optional<std::string> signed_token(std::string_view key, const ScrollPosition& position) {
  std::string text;
  JsonLine(text).add(R"({"table":)", Quoted(position.table), R"(,"shards":)", position.shards,
                     R"(,"sort":)", Quoted(position.sort), R"(,"language":)",
                     Quoted(position.language), R"(,"skip":)", position.skip, ',');
  add_order(text, position.keys);
  text += R"(,"mirrors":[)";
  for (const auto& mirror : position.mirrors)
    JsonLine(text).add(&mirror == position.mirrors.data() ? "" : ",", Quoted(mirror));
  text += ']';
  const auto code = code_of(key, "token", text);
  text.append(kBeforeCode).append(code).append(kAfterCode);
  if (text.size() > kLongestScrollToken / 4 * 3) return std::nullopt;
  return base64_of(text);
}

/// 400 for a token that was damaged, forged or made by another server.
std::expected<ScrollPosition, ClientError> read_token(std::string_view key,
                                                      std::string_view token) {
  const auto text = token.size() > kLongestScrollToken ? std::nullopt : bytes_of_base64(token);
  if (!text) return bad_scroll_token("is not base64, or too long");
  constexpr auto kEnd = kBeforeCode.size() + 2 * kCodeBytes + kAfterCode.size();
  const std::string_view all(*text);
  if (all.size() < kEnd || !all.ends_with(kAfterCode) ||
      !all.substr(all.size() - kEnd).starts_with(kBeforeCode))
    return bad_scroll_token("is not one of karmad's for a table with several shards, or was cut");
  const auto signed_text = all.substr(0, all.size() - kEnd);
  const auto given = all.substr(all.size() - kEnd + kBeforeCode.size(), 2 * kCodeBytes);
  const auto right = code_of(key, "token", signed_text);
  if (CRYPTO_memcmp(given.data(), right.data(), right.size()) != 0)
    return bad_scroll_token(
        "was changed, or made by a karmad with another key (scroll_key_file) or before a restart");
  auto position = position_in(all);
  if (!position) return bad_scroll_token("is of another version of karmad");
  return *std::move(position);
}

/// A name for a mirror that tells clients nothing of its address.
std::string digest_of(std::string_view key, std::string_view mirror) {
  return code_of(key, "mirror", mirror).substr(0, kDigestLetters);
}

/// Why a position cannot be continued there; empty: it can.
std::string why_not_there(const ScrollPosition& position, const ScrollPlace& place) {
  if (!wire::same_word(position.table, place.table))
    return fmt::format("is for table {}, not for {}", position.table, place.table);
  if (position.shards != place.shards)
    return fmt::format("was made when table {} had {}; it has {} now", place.table,
                       counted_noun(position.shards, "shard"), place.shards);
  if (position.language != place.language)
    return position.language == "sql" ? "is of a SELECT, not of a search in JSON"
                                      : "is of a search in JSON, not of a SELECT";
  return {};
}

/// How far a real number of a shard may be from its printed value: six decimals, and 24 bits of
/// precision in a comparison.
double vagueness(double value) {
  return std::max(2e-6, std::abs(value) * 0x1p-22);
}

std::optional<double> real_value(const ScrollKey& key) {
  return key.type == "float" ? number_in<double>(key.value) : std::nullopt;
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
    const auto put = [&](std::vector<ScrollKey> keys, std::size_t skip) {
      position.keys = std::move(keys);
      position.skip = skip;
    };
    if (exact_ == page_.keys) return put(keys_of(page_.rows - 1), 0);
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
      return put(std::move(keys), page_.rows - begin);
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
    for (std::size_t k = 0; k < exact_; ++k)  // a collation may ignore the case
      if (!same_attribute(json_unescaped(at(row, k).value), json_unescaped(at(next, k).value)))
        return true;
    const auto one = real_value(at(row, exact_));
    const auto other = real_value(at(next, exact_));
    return one && other &&
           std::abs(*one - *other) >= 2 * std::max(vagueness(*one), vagueness(*other));
  }

  const ScrolledPage& page_;
  std::size_t exact_ = 0;  ///< first keys that are exact in the last row
};

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
    // Servers order ids as signed numbers, and show them as unsigned ones.
    read.value = is_string(value) ? without_quotes(value) : value;
    if (const auto id = number_in<std::uint64_t>(read.value))
      read.value = fmt::to_string(static_cast<std::int64_t>(*id));
    return read;
  }
  read.value = value;
  if (is_string(value))
    read.type = "string";
  else if (value.find_first_of(".eE") != value.npos)
    read.type = "float";
  return read;
}

ScrollPages::ScrollPages(const ScrollPlace& place, std::string_view sort)
    : key_(place.key.empty() ? key_of_process() : place.key),
      position_{.table = std::string(place.table),
                .shards = place.shards,
                .sort = std::string(sort),
                .language = std::string(place.language)} {}

std::expected<ScrollPages, ClientError> ScrollPages::behind(std::string_view token,
                                                            const ScrollPlace& place) {
  ScrollPages page(place, {});
  page.given_ = token;
  auto read = read_token(page.key_, token);
  if (!read) return std::unexpected(read.error());
  page.position_ = *std::move(read);
  if (const auto why = why_not_there(page.position_, place); !why.empty())
    return bad_scroll_token(why);
  return page;
}

bool ScrollPages::prefers(std::size_t shard, std::string_view mirror) const {
  return shard < position_.mirrors.size() && !position_.mirrors[shard].empty() &&
         position_.mirrors[shard] == digest_of(key_, mirror);
}

std::string ScrollPages::next_token(const ScrolledPage& page,
                                    std::span<const ShardReply> replies) const {
  auto next = position_;
  ScrollBorder(page).move(next);
  next.mirrors.resize(replies.size());
  for (std::size_t shard = 0; shard < replies.size(); ++shard)
    if (const auto mirror = replies[shard].mirror; !mirror.empty())
      next.mirrors[shard] = digest_of(key_, mirror);
  return signed_token(key_, next).value_or("");
}

void refuse_too_many_scrolled(const ScrollPages& pages, std::uint64_t limit,
                              FirstRefusal& refusal) {
  if (pages.skip() + limit > kMostScrolled)
    refusal.refuse(
        "more than {} rows have nearly the same values in the order of the scroll; sort by whole "
        "numbers, texts or the id",
        kMostScrolled);
}

}  // namespace karmad
