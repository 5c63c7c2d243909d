#include "agent/dialect/replies/error_text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>

#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/rows/row_plan.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

/// Longer statements are not searched for the place of an error.
constexpr std::size_t kLongestSearched = 64 << 10;
/// Bytes of a quotation by which its place is found.
constexpr std::size_t kMostCompared = 256;

bool is_of_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '@' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::size_t size_of_first_word(std::string_view text) {
  const auto* const end = std::ranges::find_if_not(text, is_of_word);
  return std::max<std::size_t>(static_cast<std::size_t>(end - text.begin()), 1);
}

std::size_t common_size(std::string_view a, std::string_view b) {
  const auto ends = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(ends.in1 - a.begin());
}

/// What the client wrote at the place that a mirror quotes; nothing: the client wrote no such text.
/// `to_end`: the mirror quotes all of its statement behind the place.
std::optional<std::string_view> quoted_of_client(std::string_view quoted,
                                                 const ClientStatement& statement, bool to_end) {
  const auto without_end = [](std::string_view text) {
    return text.substr(0, text.find_last_not_of(" ;") + 1);
  };
  const auto read = without_end(statement.read);
  quoted = without_end(quoted);
  if (quoted.empty()) return quoted;
  if (read.ends_with(quoted))
    return without_end(
        statement.written.substr(statement.written_offset(read.size() - quoted.size())));
  if (read.size() > kLongestSearched) return std::nullopt;
  const auto wanted = quoted.substr(0, kMostCompared);
  std::size_t place = 0;
  std::size_t size = 0;
  for (auto at = read.find(quoted[0]); at != read.npos; at = read.find(quoted[0], at + 1)) {
    const auto found = common_size(wanted, read.substr(at));
    if (found <= size) continue;
    size = found;
    place = at;
  }
  if (size < size_of_first_word(quoted)) return std::nullopt;
  const auto begin = statement.written_offset(place);
  const auto end = to_end ? read.npos : statement.written_offset(place + size);
  return without_end(statement.written.substr(begin, end - begin));
}

/// The text with the client's words behind `near`, where it ends with a quotation.
std::string with_quotation_of_client(std::string text, const ClientStatement& statement) {
  constexpr std::string_view kNear = " near '";
  const auto near = text.find(kNear);
  if (near == text.npos || !text.ends_with('\'') || near + kNear.size() == text.size()) return text;
  const auto begin = near + kNear.size();
  const auto quoted = text.substr(begin, text.size() - 1 - begin);
  const bool to_end = text.starts_with("P0");
  const auto of_client = quoted_of_client(quoted, statement, to_end);
  text.erase(near);
  if (of_client) text.append(kNear).append(*of_client).append("'");
  return text;
}

void name_hidden_columns(std::string& text) {
  for (auto at = text.find(kHiddenName); at != text.npos; at = text.find(kHiddenName, at)) {
    auto end = at + kHiddenName.size();
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    text.replace(at, end - at, "(expression)");
  }
}

}  // namespace

std::string_view without_table(std::string_view text) {
  const auto name = text.starts_with("table ") || text.starts_with("index ") ? 6 : text.npos;
  if (name == text.npos) return text;
  const auto end = text.find(": ", name);
  if (end == text.npos || text.substr(name, end - name).find(' ') != text.npos) return text;
  return text.substr(end + 2);
}

std::string with_table_of_client(std::string_view error, std::string_view table) {
  const auto behind = without_table(error);
  return behind.size() == error.size() || table.empty()
             ? std::string(error)
             : fmt::format("table {}: {}", table, behind);
}

std::size_t ClientStatement::written_offset(std::size_t offset) const {
  std::size_t added = 0;
  for (const auto at : directions) {
    if (offset <= at + added) break;
    added += std::min(sql::kAddedDirection.size(), offset - at - added);
  }
  return offset - added;
}

std::string refusal_for_client(std::string reason, const ClientStatement& statement) {
  constexpr std::string_view kAt = "at offset ";
  if (!reason.starts_with(kAt)) return with_quotation_of_client(std::move(reason), statement);
  const auto end = reason.find(':');
  const auto offset = number_in<std::size_t>(
      std::string_view(reason).substr(kAt.size(), end == reason.npos ? end : end - kAt.size()));
  if (!offset || statement.directions.empty()) return reason;
  return fmt::format("{}{}{}", kAt, statement.written_offset(*offset),
                     std::string_view(reason).substr(std::min(end, reason.size())));
}

std::string error_for_client(std::string_view error, const ClientStatement& statement) {
  auto text = with_quotation_of_client(with_table_of_client(error, statement.table), statement);
  name_hidden_columns(text);
  return text;
}

void Warnings::add(std::string_view text) {
  if (!text.empty()) told_.push_back({std::string(text), std::nullopt});
}

void Warnings::add_of_shard(std::size_t shard, std::string_view escaped) {
  if (escaped.empty()) return;
  const auto whole = json_unescaped(escaped);
  const auto text = without_table(whole);
  const auto same = std::ranges::find(told_, text, &Told::text);
  if (same == told_.end())
    told_.push_back({std::string(text), shard});
  else if (same->shard != shard)
    same->shard.reset();
}

std::string Warnings::text() const {
  std::string all;
  for (const auto& [text, shard] : told_) {
    if (!all.empty()) all += ";\n";
    if (shard) fmt::format_to(std::back_inserter(all), "shard {}: ", *shard + 1);
    all += text;
  }
  return all;
}

}  // namespace karmad
