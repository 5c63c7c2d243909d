#include "config/text/parse.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "config/text/closest.hpp"
#include "config/text/enum_names.hpp"
#include "config/text/paragraphs.hpp"

// The bytes of peer_keys.txt.
extern "C" const char karmad_peer_keys[];      // NOLINT(readability-identifier-naming): a symbol
extern "C" const char karmad_peer_keys_end[];  // NOLINT(readability-identifier-naming)

namespace karmad {

namespace {

constexpr auto kSectionNames = enumerators<SectionKind>();
constexpr std::array<std::string_view, 7> kTopWords{"searchd", "indexer", "common", "source",
                                                    "table",   "index",   "include"};

std::optional<SectionKind> section_kind(std::string_view word) {
  return word == "index" ? SectionKind::table : kSectionNames.find(word);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool is_word_letter(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}

class SectionReader {
 public:
  SectionReader(const SourceText& file, Problems& problems) : file_(file), problems_(problems) {}

  std::vector<Statement> run() {
    while (skip_space(), more()) read_statement();
    return std::move(statements_);
  }

 private:
  bool more() const { return next_ < file_.size() && problems_.size() < kEnoughProblems; }
  char peek() const { return next_ < file_.size() ? file_.text()[next_] : '\0'; }
  /// Whether the next character is this brace as syntax, not escaped or substituted.
  bool at_brace(char brace) const { return peek() == brace && !file_.is_literal(next_); }
  /// At a letter of a word, or in place of an unknown variable.
  bool at_word() const { return is_word_letter(peek()) || file_.is_unknown(next_); }
  Place here() const { return file_.place(next_); }
  void problem(Place at, std::string message) {
    problems_.push_back({std::move(at), std::move(message)});
  }

  void skip_blanks() {
    while (next_ < file_.size() && is_blank(peek())) ++next_;
  }
  void skip_space() {
    while (next_ < file_.size() && (is_blank(peek()) || peek() == '\n')) ++next_;
  }
  void skip_line() { next_ = std::min(file_.text().find('\n', next_), file_.size()); }

  std::string read_word() {
    const auto begin = next_;
    while (next_ < file_.size() && at_word()) ++next_;
    return file_.text().substr(begin, next_ - begin);
  }

  /// The next character for a message.
  std::string found() const {
    if (next_ >= file_.size()) return "the end of the file";
    return peek() == '\n' ? "the end of the line"
                          : first_in_quotes(std::string_view(file_.text()).substr(next_));
  }

  void read_statement() {
    const auto at = here();
    const auto word = lower(read_word());
    if (word.empty()) {
      problem(at, fmt::format("expected a section such as searchd or table, found {}", found()));
      return skip_line();
    }
    if (word == "include") return read_include(at);
    auto kind = section_kind(word);
    const bool known = kind.has_value();
    if (!known) {
      const auto meant = closest(word, kTopWords);
      skip_blanks();
      if (peek() == '=' && meant != "include") {
        problem(at, fmt::format("{} stands outside of a section: settings belong between the "
                                "braces of searchd or of a table",
                                in_quotes(word)));
        return skip_line();
      }
      problem(at,
              fmt::format("unknown section {}{}", in_quotes(word), suggestion(word, kTopWords)));
      if (peek() == '=') return read_include(at);
      if (meant) kind = section_kind(*meant);
    }
    bool good = known;
    auto written = read_head(kind, word, at, good);
    if (at_brace('{'))
      ++next_;
    else if (!good)
      return skip_line();
    written.section.entries = read_body(word, at);
    if (kind) statements_.emplace_back(std::move(written));
  }

  void read_include(const Place& at) {
    skip_blanks();
    const bool has_equals = peek() == '=';
    if (has_equals)
      ++next_;
    else
      problem(here(), fmt::format("expected '=' after include, found {}", found()));
    const auto begin = next_;
    skip_line();
    auto pattern = trimmed(file_.slice(begin, next_));
    if (pattern.size() != 0)
      statements_.emplace_back(Include{std::move(pattern), at, !has_equals});
    else if (has_equals)
      problem(at, "include names no file");
  }

  /// Reads up to the opening brace. After a (reported) mistake `good` is false, unless only the
  /// brace is missing at the end of the line; the position is then at the brace, if the line has
  /// one.
  WrittenSection read_head(std::optional<SectionKind> kind, const std::string& word,
                           const Place& at, bool& good) {
    WrittenSection written;
    written.section.at = at;
    written.section.kind = kind.value_or(SectionKind::common);
    skip_blanks();
    bool clean = true;
    const bool named = kind && is_named(*kind);
    if (at_word()) {
      written.section.name = read_word();
      if (kind && !named) {
        problem(at, fmt::format("section {} has no name: expected '{{', found {}", word,
                                in_quotes(written.section.name)));
        clean = false;
      }
    } else if (named) {
      problem(here(), fmt::format("expected the name of the {}, found {}", word, found()));
      clean = false;
    }
    skip_blanks();
    if (named && clean && peek() == ':') {
      ++next_;
      skip_blanks();
      written.parent_at = here();
      written.parent = read_word();
      if (written.parent.empty()) {
        problem(here(), fmt::format("expected the name of the parent, found {}", found()));
        clean = false;
      }
    }
    const auto before_brace = next_;
    skip_space();
    if (at_brace('{')) return written;
    next_ = before_brace;
    if (clean && kind)
      problem(here(), fmt::format("expected {}'{{', found {}",
                                  named && written.parent.empty() ? "':' or " : "", found()));
    good = good && clean && peek() == '\n';
    if (peek() == '\n') return written;
    while (next_ < file_.size() && peek() != '\n' && !at_brace('{')) ++next_;
    return written;
  }

  std::vector<Entry> read_body(const std::string& word, const Place& opened) {
    std::vector<Entry> entries;
    while (problems_.size() < kEnoughProblems) {
      skip_space();
      if (at_brace('}')) {
        ++next_;
        return entries;
      }
      if (next_ >= file_.size()) {
        problem(here(), fmt::format("the closing '}}' of the section {} in line {} is missing",
                                    word, opened.line));
        return entries;
      }
      if (next_section_begins()) {
        problem(here(), fmt::format("a section begins inside the section {}: the closing '}}' of "
                                    "line {}'s '{{' is missing",
                                    word, opened.line));
        return entries;
      }
      read_entry(entries);
    }
    return entries;
  }

  /// True at `table x {` and the like in place of a key.
  bool next_section_begins() {
    const auto begin = next_;
    const auto word = lower(read_word());
    skip_blanks();
    const bool begins = section_kind(word) && (is_word_letter(peek()) || at_brace('{'));
    next_ = begin;
    return begins;
  }

  void read_entry(std::vector<Entry>& entries) {
    Entry entry{.key = {}, .at = here(), .value = {}};
    entry.key = lower(read_word());
    if (entry.key.empty()) {
      problem(entry.at, fmt::format("expected a key or '}}', found {}", found()));
      return skip_line();
    }
    skip_blanks();
    entry.faulty = peek() != '=';
    if (entry.faulty)
      problem(here(),
              fmt::format("expected '=' after {}, found {}", in_quotes(entry.key), found()));
    if (!entry.faulty || peek() == ':') ++next_;
    entry.value = read_value();
    if (entry.faulty && entry.value.size() == 0) return;
    if (entry.key == "include") return problem(entry.at, "include belongs outside of sections");
    entries.push_back(std::move(entry));
  }

  /// Reads up to the end of the line, or to a closing brace that the value itself did not open.
  SourceText read_value() {
    const auto begin = next_;
    std::size_t open = 0;
    for (; next_ < file_.size() && peek() != '\n'; ++next_) {
      if (at_brace('{')) ++open;
      if (!at_brace('}')) continue;
      if (open == 0) break;
      --open;
    }
    return trimmed(file_.slice(begin, next_));
  }

  const SourceText& file_;
  Problems& problems_;
  std::vector<Statement> statements_;
  std::size_t next_ = 0;
};

}  // namespace

bool is_named(SectionKind kind) {
  return kind == SectionKind::source || kind == SectionKind::table;
}

std::string_view name_of(SectionKind kind) {
  return kSectionNames[kind];
}

std::vector<Statement> read_sections(const SourceText& file, Problems& problems) {
  return SectionReader(file, problems).run();
}

namespace {

using Words = std::set<std::string, std::less<>>;

/// Those of that section.
Words words_of(std::string_view section) {
  const auto all = read_paragraphs(karmad_peer_keys, karmad_peer_keys_end);
  std::istringstream words(std::ranges::find(all, section, &Paragraph::head)->text);
  return {std::istream_iterator<std::string>(words), {}};
}

struct Missed {
  std::string_view key;
  std::string_view what;
};

constexpr std::string_view kOwnTls = "tls_certificate, tls_key and tls_client_ca encrypt";
constexpr std::string_view kNoQueue =
    "search_tickets and update_tickets limit the requests in progress";
constexpr std::string_view kNoThrottle = "ingress_connection_rate limits new connections";

constexpr Missed kMissed[] = {
    {"jobs_queue_size", kNoQueue},
    {"max_children", kNoQueue},
    {"net_throttle_accept", kNoThrottle},
    {"net_throttle_action", kNoThrottle},
    {"queue_max_length", kNoQueue},
    {"ssl_ca", kOwnTls},
    {"ssl_cert", kOwnTls},
    {"ssl_key", kOwnTls},
};

}  // namespace

std::string_view missed_without(SectionKind kind, std::string_view key) {
  if (kind != SectionKind::searchd) return {};
  for (const auto& missed : kMissed)
    if (missed.key == key) return missed.what;
  return {};
}

bool is_ignored_peer_key(SectionKind kind, std::string_view key) {
  static const auto of_searchd = words_of("searchd");
  static const auto of_table = words_of("table");
  if (kind == SectionKind::searchd) return of_searchd.contains(key);
  if (kind == SectionKind::table) return of_table.contains(key);
  return true;  // those sections are ignored as a whole
}

}  // namespace karmad
