#include "demo/engine/highlight.hpp"

#include <algorithm>

#include "demo/data/text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kMostWords = 40;  // about 256 characters, as in the search server
constexpr std::size_t kWordsBefore = 10;

}  // namespace

std::string marked_text(std::string_view text, const Highlight& how,
                        std::span<const std::string> words) {
  const auto all = tokens(text);
  const auto wanted = [&](const Token& token) {
    return std::find(words.begin(), words.end(), token.word) != words.end();
  };
  const auto hit = std::find_if(all.begin(), all.end(), wanted);
  const auto first_hit = hit == all.end() ? 0 : static_cast<std::size_t>(hit - all.begin());
  const bool cut = all.size() > kMostWords;
  const auto first = cut && first_hit > kWordsBefore ? first_hit - kWordsBefore : 0;
  const auto last = cut ? std::min(all.size(), first + kMostWords) : all.size();

  std::string out;
  auto at = first == 0 ? 0 : all[first].begin;
  for (auto i = first; i < last; ++i) {
    if (!wanted(all[i])) continue;
    out.append(text.substr(at, all[i].begin - at)).append(how.before);
    out.append(text.substr(all[i].begin, all[i].end - all[i].begin)).append(how.after);
    at = all[i].end;
  }
  const auto end = last == all.size() ? text.size() : all[last - 1].end;
  return out.append(text.substr(at, end - at));
}

void append_highlight(std::string& out, const Document& document, const Highlight& how,
                      std::span<const std::string> words) {
  out += ",\"highlight\":{";
  for (const auto field : kFields) {
    if (!how.fields.has(field)) continue;
    if (out.back() != '{') out += ',';
    out += field == Field::title ? "\"title\":[" : "\"body\":[";
    append_quoted(out, marked_text(text_in(document, field), how, words));
    out += ']';
  }
  out += '}';
}

}  // namespace karmad
