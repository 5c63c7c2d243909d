#include "demo/engine/highlight.hpp"

#include <algorithm>

#include "demo/data/text.hpp"

namespace karmad::demo {

namespace {

constexpr std::size_t kMostWords = 40;  // about 256 characters, as in the search server
constexpr std::size_t kWordsBefore = 10;

bool is_blank(std::string_view text, std::size_t begin, std::size_t end) {
  return text.substr(begin, end - begin).find_first_not_of(' ') == std::string_view::npos;
}

/// A text in which nothing is marked: as many words and gaps as fit.
std::string beginning(std::string_view text, const std::vector<Token>& all, std::size_t limit) {
  const auto width = [&](std::size_t bytes) {
    return static_cast<std::size_t>(std::ranges::count_if(text.substr(0, bytes), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
  };
  if (limit == 0 || width(text.size()) <= limit) return std::string(text);
  std::size_t end = 0;
  for (const auto& token : all)
    for (const auto edge : {token.begin, token.end})
      if (width(edge) <= limit) end = std::max(end, edge);
  return std::string(text.substr(0, end)) + " ... ";
}

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
  if (hit == all.end()) return beginning(text, all, how.limit);
  auto at = first == 0 ? 0 : all[first].begin;
  for (auto i = first; i < last; ++i) {
    if (!wanted(all[i])) continue;
    const auto begin = all[i].begin;
    while (i + 1 < last && wanted(all[i + 1]) && is_blank(text, all[i].end, all[i + 1].begin)) ++i;
    out.append(text.substr(at, begin - at)).append(how.before);
    out.append(text.substr(begin, all[i].end - begin)).append(how.after);
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

}  // namespace karmad::demo
