#include "config/manual_page.hpp"

#include <fmt/format.h>

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

/// The cells of a row that depend on the field's type.
struct Cells {
  std::string value;
  std::string range;
  std::string fallback;
};

template <class T>
Cells cells_of(const Bounds& bounds) {  // NOLINT(readability-function-cognitive-complexity): a list
  constexpr bool is_number = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  Cells cells;
  if constexpr (std::is_same_v<T, Micros>)
    cells.value =
        fmt::format("time{}; a bare number: {}",
                    bounds.zero_word.empty() ? "" : fmt::format(" or `{}`", bounds.zero_word),
                    time_text(bounds.bare).substr(1));
  else if constexpr (std::is_same_v<T, std::vector<Micros>>)
    cells.value = fmt::format("1 … {} times; a bare number: {}", kMostTimes,
                              time_text(bounds.bare).substr(1));
  else if constexpr (std::is_same_v<T, Rate>)
    cells.value = "number, `/s`, `/m`, `/h` or `/d`; or `unlimited`";
  else if constexpr (std::is_same_v<T, AddressRanges>)
    cells.value = "list of addresses and CIDR ranges";
  else if constexpr (std::is_same_v<T, Origins>)
    cells.value = fmt::format("`*`, or 1 … {} origins, separated by commas", kMostOrigins);
  else if constexpr (std::is_same_v<T, AppNames>)
    cells.value = fmt::format("1 … {} texts, separated by commas", kMostAppNames);
  else if constexpr (std::is_same_v<T, DnsServers>)
    cells.value = "list of IP addresses with ports";
  else if constexpr (std::is_same_v<T, DiscoverySource>)
    cells.value = "kind and place of the source";
  else if constexpr (std::is_same_v<T, ClientAuth>)
    cells.value = "`basic` or `bearer`, and a file";
  else if constexpr (std::is_same_v<T, bool>)
    cells.value = "0 or 1";
  else if constexpr (std::is_same_v<T, std::string>)
    cells.value = "text";
  else if constexpr (std::is_enum_v<T>)
    cells.value = fmt::format("`{}`", fmt::join(words<T>(), "`, `"));
  else if constexpr (std::is_same_v<T, TicketCount>)
    cells.value = "number, `auto` or `unlimited`";
  else if constexpr (std::is_same_v<T, MemorySize>)
    cells.value = "size or `auto`";
  else if constexpr (std::is_same_v<T, FileMode>)
    cells.value = "three octal digits";
  else
    cells.value = std::is_same_v<T, std::size_t> ? "size" : "number";
  if (is_number && !bounds.zero_word.empty())
    cells.value += fmt::format(" or `{}`", bounds.zero_word);
  constexpr bool is_time = std::is_same_v<T, Micros> || std::is_same_v<T, std::vector<Micros>>;
  if constexpr (std::is_same_v<T, Rate>) cells.range = "1 … 2147483647";
  if (is_number || is_time || std::is_same_v<T, TicketCount> || std::is_same_v<T, MemorySize>)
    cells.range = fmt::format("{}{} … {}", bounds.zero && bounds.zero_means.empty() ? "0, " : "",
                              bound_text<T>(bounds.lowest), bound_text<T>(bounds.highest));
  return cells;
}

template <class Owner>
struct CellsOf {
  const Key<Owner>& key;
  const Owner& defaults;
  const std::string& unset;

  Cells operator()(std::monostate) const { return {"word", "", unset}; }
  Cells operator()(std::vector<Listen> Owner::*) const {
    return {"list of addresses", "", fmt::format("`{}`", unset)};
  }
  Cells operator()(std::vector<ShardSettings> Owner::*) const {
    return {"list of agent lines", "1 … 64 mirrors", unset};
  }
  Cells operator()(std::vector<std::string> Owner::*) const { return {"list of paths", "", unset}; }
  template <Setting Value>
  Cells operator()(Value Owner::*field) const {
    auto cells = cells_of<ValueOf<Value>>(key.bounds);
    const auto* const setting = if_set(defaults.*field);
    const auto value = setting != nullptr ? value_text(setting->value, key.bounds) : std::string();
    cells.fallback = value.empty() || key.inherited ? unset : fmt::format("`{}`", value);
    return cells;
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
    auto cells = std::visit(CellsOf<Owner>{key, defaults, doc.unset}, key.field);
    if (!key.alias_of.empty()) cells.fallback = fmt::format("see `{}`", key.alias_of);
    texts.push_back({key.name, std::move(cells.value), std::move(cells.fallback),
                     std::move(cells.range), std::move(doc.meaning)});
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

std::vector<KeyText> searchd_key_texts() {
  return texts_of(searchd_keys());
}
std::vector<KeyText> table_key_texts() {
  return texts_of(table_keys());
}

std::string reference() {
  return fmt::format("### In `searchd`\n\n{}\n### In a distributed table\n\n{}",
                     table_of(searchd_key_texts()), table_of(table_key_texts()));
}

std::string configuration_manual_page() {
  return filled(karmad_file_manual, karmad_file_manual_end,
                {{"version", KARMAD_VERSION},
                 {"mirror options", fmt::format("{}", fmt::join(mirror_option_names(), ", "))},
                 {"line options", fmt::format("{}", fmt::join(line_option_names(), ", "))},
                 {"keys of searchd", entries(searchd_key_texts())},
                 {"keys of tables", entries(table_key_texts())}});
}

}  // namespace karmad
