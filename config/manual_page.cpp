#include "config/manual_page.hpp"

#include <fmt/format.h>

#include <tuple>
#include <vector>

#include "config/agent_line.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"
#include "config/text/paragraphs.hpp"

// The bytes of manual_page.roff.
extern "C" const char karmad_file_manual[];      // NOLINT(readability-identifier-naming): a symbol
extern "C" const char karmad_file_manual_end[];  // NOLINT(readability-identifier-naming)

namespace karmad {
namespace {

/// The character that starts at `at`, which is moved behind it; `?` if it is not UTF-8.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const unsigned more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  if (more == 0) return U'?';
  char32_t character = first & (0x3FU >> more);
  for (unsigned i = 0; i < more; ++i) {
    if (at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80) return U'?';
    character = character << 6U | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  }
  return character;
}

std::string roff_of(std::string_view text, bool markdown) {
  std::string out;
  bool bold = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool starts_line = at == 0 || text[at - 1] == '\n';
    const auto character = next_character(text, at);
    if (character == U'`' && markdown) {
      bold = !bold;
      out += bold ? "\\fB" : "\\fR";
    } else if (character == U'\\') {
      out += "\\e";
    } else if (character == U'-') {
      out += "\\-";
    } else if (character == U'\'') {
      out += "\\(aq";
    } else if (character == U'.' && starts_line) {
      out += "\\&.";
    } else if (character < 0x80) {
      out += static_cast<char>(character);
    } else {
      out += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(character));
    }
  }
  return out;
}

/// What the documentation says of one key. Texts are Markdown: only `code` is used.
struct KeyText {
  std::string_view name{};
  std::string value{};     ///< what may be written
  std::string fallback{};  ///< the default; empty: none
  std::string range{};     ///< empty: no limits
  std::string meaning{};
};

/// What may be written for a value of that type.
template <class T>
struct Writing {
  std::string_view text;
};
constexpr std::tuple kWritings{
    Writing<Rate>{"number, `/s`, `/m`, `/h` or `/d`; or `unlimited`"},
    Writing<AddressRanges>{"list of addresses and CIDR ranges"},
    Writing<DnsServers>{"list of IP addresses with ports"},
    Writing<DiscoverySource>{"kind and place of the source"},
    Writing<ClientAuth>{"`basic` or `bearer`, and a file"},
    Writing<bool>{"0 or 1"},
    Writing<std::string>{"text"},
    Writing<TicketCount>{"number, `auto` or `unlimited`"},
    Writing<MemorySize>{"size or `auto`"},
    Writing<FileMode>{"three octal digits"},
    Writing<std::size_t>{"size"},
    Writing<unsigned>{"number"},
    Writing<double>{"number"},
};

/// Without what depends on the key.
template <class T>
KeyText text_of(const Bounds& bounds) {
  constexpr bool is_number = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  constexpr bool is_time = std::is_same_v<T, Micros> || std::is_same_v<T, std::vector<Micros>>;
  KeyText text;
  if constexpr (std::is_same_v<T, Micros>)
    text.value =
        fmt::format("time{}; a bare number: {}",
                    bounds.zero_word.empty() ? "" : fmt::format(" or `{}`", bounds.zero_word),
                    time_text(bounds.bare).substr(1));
  else if constexpr (std::is_same_v<T, std::vector<Micros>>)
    text.value = fmt::format("1 … {} times; a bare number: {}", kMostTimes,
                             time_text(bounds.bare).substr(1));
  else if constexpr (std::is_same_v<T, Origins>)
    text.value = fmt::format("`*`, or 1 … {} origins, separated by commas", kMostOrigins);
  else if constexpr (std::is_same_v<T, AppNames>)
    text.value = fmt::format("1 … {} texts, separated by commas", kMostAppNames);
  else if constexpr (std::is_enum_v<T>)
    text.value = fmt::format("`{}`", fmt::join(words<T>(), "`, `"));
  else
    text.value = std::get<Writing<T>>(kWritings).text;
  if (is_number && !bounds.zero_word.empty())
    text.value += fmt::format(" or `{}`", bounds.zero_word);
  if (std::is_same_v<T, Rate>) text.range = "1 … 2147483647";
  if (is_number || is_time || std::is_same_v<T, TicketCount> || std::is_same_v<T, MemorySize>)
    text.range = fmt::format("{}{} … {}", bounds.zero && bounds.zero_means.empty() ? "0, " : "",
                             bound_text<T>(bounds.lowest), bound_text<T>(bounds.highest));
  return text;
}

template <class Owner>
struct TextOfField {
  const Key<Owner>& key;
  const Owner& defaults;
  const std::string& unset;

  KeyText operator()(std::monostate) const { return {.value = "word", .fallback = unset}; }
  KeyText operator()(std::vector<Listen> Owner::*) const {
    return {.value = "list of addresses", .fallback = fmt::format("`{}`", unset)};
  }
  KeyText operator()(std::vector<ShardSettings> Owner::*) const {
    return {.value = "list of agent lines", .fallback = unset, .range = "1 … 64 mirrors"};
  }
  KeyText operator()(std::vector<std::string> Owner::*) const {
    return {.value = "list of paths", .fallback = unset};
  }
  template <Setting Value>
  KeyText operator()(Value Owner::*field) const {
    auto text = text_of<ValueOf<Value>>(key.bounds);
    const auto* const setting = if_set(defaults.*field);
    const auto value = setting != nullptr ? value_text(setting->value, key.bounds) : std::string();
    text.fallback = value.empty() || key.inherited ? unset : fmt::format("`{}`", value);
    return text;
  }
};

/// Escapes bars, which end a cell even inside code.
std::string in_a_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

template <class Owner>
std::vector<KeyText> texts_of(std::span<const Key<Owner>> keys) {
  std::vector<KeyText> texts;
  const Owner defaults;
  for (const auto& key : keys) {
    auto doc = doc_of(key);
    auto& text =
        texts.emplace_back(std::visit(TextOfField<Owner>{key, defaults, doc.unset}, key.field));
    text.name = key.name;
    if (!key.alias_of.empty()) text.fallback = fmt::format("see `{}`", key.alias_of);
    text.meaning = std::move(doc.meaning);
  }
  return texts;
}

/// The first sentences of a text, as many as fit into two lines of a cell; at least one.
std::string_view beginning(std::string_view text) {
  constexpr std::size_t kTwoLines = 200;
  if (text.size() <= kTwoLines) return text;
  const auto fits = text.substr(0, kTwoLines).rfind(". ");
  return text.substr(0, fits == text.npos ? text.find(". ") : fits + 1);
}

/// The keys as rows; what does not fit into a row follows the table.
std::string table_of(const std::vector<KeyText>& keys) {
  std::string out = "| key | value | default | range | meaning |\n|---|---|---|---|---|\n";
  std::string rests;
  for (const auto& key : keys) {
    const auto cell = beginning(key.meaning);
    const auto rest = key.meaning.substr(cell.size());
    out += fmt::format("| `{}` | {} | {} | {} | {}{} |\n", key.name, key.value, key.fallback,
                       key.range, in_a_cell(cell), rest.empty() ? "" : " …");
    if (!rest.empty()) rests += fmt::format("- `{}`:{}\n", key.name, rest);
  }
  return rests.empty() ? out : out + "\nWhat ends with … goes on here:\n\n" + rests;
}

std::string entries(const std::vector<KeyText>& keys) {
  std::string out;
  for (const auto& key : keys) {
    out += fmt::format(".TP\n.B {}\n{}\n.br\nValue: {}", roff(key.name), roff(key.meaning),
                       roff(key.value));
    if (!key.range.empty()) out += fmt::format("; {}", roff(key.range));
    if (!key.fallback.empty()) out += fmt::format(". Default: {}", roff(key.fallback));
    out += ".\n";
  }
  return out;
}

}  // namespace

std::string roff(std::string_view markdown) {
  return roff_of(markdown, true);
}

std::string roff_verbatim(std::string_view text) {
  return roff_of(text, false);
}

std::string reference() {
  return fmt::format("### In `searchd`\n\n{}\n### In a distributed table\n\n{}",
                     table_of(texts_of(searchd_keys())), table_of(texts_of(table_keys())));
}

std::string configuration_manual_page() {
  return filled(karmad_file_manual, karmad_file_manual_end,
                {{"version", KARMAD_VERSION},
                 {"mirror options", fmt::format("{}", fmt::join(mirror_option_names(), ", "))},
                 {"line options", fmt::format("{}", fmt::join(line_option_names(), ", "))},
                 {"keys of searchd", entries(texts_of(searchd_keys()))},
                 {"keys of tables", entries(texts_of(table_keys()))}});
}

}  // namespace karmad
