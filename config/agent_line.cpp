#include "config/agent_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/settings/address.hpp"
#include "config/settings/units.hpp"

namespace karmad {

namespace {

/// Half-open range of offsets in the line.
struct Range {
  std::size_t begin;
  std::size_t end;
};

constexpr std::string_view kSeparator =
    "mirrors are separated by '|', as in a:9308|b:9308; ',' separates the names of tables";

class AgentLineReader {
 public:
  AgentLineReader(const SourceText& line, Problems& problems, Problems& notices,
                  ShardSettings line_above, MirrorSettings mirror_above)
      : line_(line),
        text_(line.text()),
        problems_(problems),
        notices_(notices),
        shard_(std::move(line_above)),
        mirror_above_(std::move(mirror_above)) {}

  ShardSettings run(std::string_view own_table) {
    shard_.line = text_;
    shard_.at = line_.place(0);
    const auto before = problems_.size();
    read_line();
    if (shard_.mirrors.empty() && problems_.size() == before)
      problem(0, "the line names no agent; it needs host:port:table");
    inherit_tables(own_table);
    if (shard_.blackhole) ignore_mirror_options();
    return std::move(shard_);
  }

 private:
  void problem(std::size_t offset, std::string message) {
    problems_.push_back({line_.place(offset), std::move(message)});
  }
  void problem(std::size_t offset, const Unfit& unfit) {
    problem(offset + unfit.offset, unfit.why);
  }
  std::string_view view(Range range) const {
    return std::string_view(text_).substr(range.begin, range.end - range.begin);
  }
  Range trim(Range range) const {
    const auto part = trimmed(view(range), " \t");
    const auto begin = static_cast<std::size_t>(part.data() - text_.data());
    return {begin, begin + part.size()};
  }
  /// The first `c` in [begin, end), or end.
  std::size_t find(char c, std::size_t begin, std::size_t end) const {
    return std::min(text_.find(c, begin), end);
  }

  /// Splits the line into mirrors.
  void read_line() {
    for (std::size_t begin = 0; begin <= text_.size();) {
      auto pipe = find('|', begin, text_.size());
      if (const auto end = end_of_mirror(begin)) {
        auto* const mirror = read_mirror({begin, *end});
        const auto next = read_brackets(*end, mirror);
        if (!next) return;
        pipe = *next;
      } else {
        shard_.mirrors.push_back(mirror_above_);
      }
      begin = pipe + 1;
    }
  }

  /// The end of the mirror: a pipe, the bracket of its options, or the end of the line.
  std::optional<std::size_t> end_of_mirror(std::size_t begin) {
    bool at_start = true;  // here a bracket holds an IPv6 address
    for (auto i = begin; i < text_.size(); ++i) {
      if (text_[i] == '|') return i;
      if (text_[i] == '[') {
        const auto close = end_of_bracket(i);
        if (!at_start || view({i, close}).find('=') != std::string_view::npos) return i;
        if (!is_closed(close)) {
          problem(i, "the '[' of an IPv6 address has no ']'");
          return std::nullopt;
        }
        i = close;
      }
      at_start = at_start && (text_[i] == ' ' || text_[i] == '\t');
    }
    return text_.size();
  }

  std::size_t end_of_bracket(std::size_t open) const {
    return std::min(text_.find_first_of("[]|", open + 1), text_.size());
  }
  bool is_closed(std::size_t close) const { return close < text_.size() && text_[close] == ']'; }

  /// The mirror, valid until the next one is read; nullptr if there is none.
  MirrorSettings* read_mirror(Range piece) {
    const bool is_followed = piece.end < text_.size() && text_[piece.end] == '|';
    piece = trim(piece);
    if (piece.begin == piece.end) {
      if (is_followed || !shard_.mirrors.empty())
        notices_.push_back({line_.place(piece.begin), "no mirror stands between two '|'; ignored"});
      return nullptr;
    }
    auto mirror = mirror_above_;
    mirror.at = line_.place(piece.begin);
    auto host = Range{piece.begin, find(':', piece.begin, piece.end)};
    if (text_[piece.begin] == '[') host.end = text_.find(']', piece.begin) + 1;
    const auto rest = Range{host.end, piece.end};
    if (text_[piece.begin] == '/')
      read_unix(host, rest, mirror);
    else
      read_host(host, rest, mirror);
    // An invalid mirror is kept, so that the line is not also reported as empty.
    return &shard_.mirrors.emplace_back(std::move(mirror));
  }

  /// Reads the brackets after a mirror and returns the position of the pipe or of the line's end;
  /// nothing if it is unknown where a bracket ends.
  std::optional<std::size_t> read_brackets(std::size_t begin, MirrorSettings* mirror) {
    std::vector<Range> brackets;  // contents of the brackets
    auto next = begin;
    for (; next < text_.size() && text_[next] == '['; next = skip_blanks(next)) {
      const auto close = end_of_bracket(next);
      if (!is_closed(close)) {
        problem(next, "the '[' of the options has no ']'");
        const auto bracket = text_.find_first_of("[]", close);
        if (bracket != text_.npos && (text_[bracket] == ']' || bracket == close))
          return std::nullopt;
        brackets.push_back({next + 1, close});
        next = close;
        break;
      }
      brackets.push_back({next + 1, close});
      next = close + 1;
    }
    const auto pipe = find('|', next, text_.size());
    if (next < pipe)
      problem(next, fmt::format("nothing may follow the options, found {}",
                                in_quotes(view(trim({next, pipe})))));
    if (!brackets.empty()) read_options(brackets, mirror, pipe == text_.size());
    return pipe;
  }

  std::size_t skip_blanks(std::size_t begin) const {
    return std::min(text_.find_first_not_of(" \t", begin), text_.size());
  }

  void read_options(const std::vector<Range>& brackets, MirrorSettings* mirror, bool is_last) {
    const std::size_t most = is_last ? 2 : 1;
    if (brackets.size() > most)
      problem(brackets[most].begin - 1,
              is_last ? "nothing may follow the options of the line, found a third bracket"
                      : "a second bracket holds the options of the line: it belongs at the "
                        "end of the line");
    MirrorSettings unnamed;
    auto& owner = mirror == nullptr ? unnamed : *mirror;
    const auto read = [&](Range bracket, OptionsOf whose) {
      read_agent_options(line_.slice(bracket.begin, bracket.end), whose, owner, shard_, problems_);
    };
    if (mirror == nullptr && !(is_last && brackets.size() == 1)) {
      problem(brackets[0].begin - 1, "there is no mirror before these options");
      return read(brackets[0], OptionsOf::either);
    }
    if (brackets.size() == 1) {
      if (!is_last) return read(brackets[0], OptionsOf::mirror);
      return read(brackets[0], mirror == nullptr ? OptionsOf::line : OptionsOf::either);
    }
    read(brackets[0], OptionsOf::mirror);
    read(brackets[1], OptionsOf::line);
  }

  void read_unix(Range path, Range rest, MirrorSettings& mirror) {
    if (auto parsed = parse_unix_path(view(path)))
      mirror.address.unix_path = std::move(*parsed);
    else
      problem(path.begin, parsed.error());
    if (rest.begin < rest.end) read_tables({rest.begin + 1, rest.end}, mirror);
  }

  void read_host(Range host, Range rest, MirrorSettings& mirror) {
    const auto whole = view({host.begin, rest.end});
    if (const auto scheme = whole.find("://"); scheme != std::string_view::npos)
      return problem(
          host.begin,
          fmt::format("an agent is host:port, not a URL: write {} without {}",
                      in_quotes(whole.substr(scheme + 3)), in_quotes(whole.substr(0, scheme + 3))));
    if (whole[0] != '[' && (whole.find("::") != std::string_view::npos ||
                            std::count(whole.begin(), whole.end(), ':') == 7))
      return problem(host.begin, "an IPv6 address needs brackets, as in [::1]:9308:table");
    if (auto parsed = parse_host(view(host)))
      mirror.address.host = std::move(*parsed);
    else
      problem(host.begin, parsed.error());
    mirror.address.port = kDefaultPort;
    if (rest.begin < rest.end && text_[rest.begin] != ':')
      return problem(rest.begin, fmt::format("expected ':' after the host, found {}",
                                             first_in_quotes(view({rest.begin, rest.end}))));
    const auto field =
        rest.begin == rest.end ? rest : Range{rest.begin + 1, find(':', rest.begin + 1, rest.end)};
    if (const auto comma = view(field).find(',');
        comma != std::string_view::npos && is_number(trimmed(view(field).substr(0, comma), " \t")))
      return problem(field.begin + comma, std::string(kSeparator));
    if (!is_number(view(field))) {
      if (!is_srv_name(mirror.address.host))
        notices_.push_back(
            {mirror.at, fmt::format("the agent has no port; {} is used", kDefaultPort)});
      if (rest.begin < rest.end) read_tables({rest.begin + 1, rest.end}, mirror);
      return;
    }
    const auto port = parse_port(view(field));
    mirror.address.port = port.value_or(0);
    if (!port)
      problem(field.begin, port.error());
    else if (*port == 0)
      problem(field.begin, "an agent cannot have port 0");
    if (field.end < rest.end) read_tables({field.end + 1, rest.end}, mirror);
  }

  void read_tables(Range tables, MirrorSettings& mirror) {
    for (auto begin = tables.begin; begin <= tables.end;) {
      const auto end = find(',', begin, tables.end);
      const auto name = trim({begin, end});
      const auto word = view(name);
      const auto blank = word.find_first_of(" \t");
      if (const auto colon = word.find(':'); colon != std::string_view::npos) {
        const auto behind = word.substr(colon + 1);
        if (tables.begin < begin && is_number(behind.substr(0, behind.find(':'))))
          return problem(begin - 1, std::string(kSeparator));
        return problem(name.begin + colon,
                       fmt::format("no ':' can follow the table {}; a mirror is host:port:table",
                                   in_quotes(word.substr(0, colon))));
      }
      if (word.empty())
        problem(name.begin, "the name of a table is missing");
      else if (blank != word.npos)
        problem(name.begin + blank,
                "a blank inside the name of a table; several tables are separated by ','");
      else if (!is_table_name(word))
        problem(name.begin, fmt::format("{} is not the name of a table", in_quotes(word)));
      else
        mirror.tables.emplace_back(word);
      begin = end + 1;
    }
  }

  /// Warns that options of a mirror in a blackhole line have no effect: no mirror is chosen there.
  void ignore_mirror_options() {
    const Place* first = nullptr;
    for (auto& mirror : shard_.mirrors) {
      if (!mirror.role && !mirror.tags && mirror.weight.at.line == 0 && mirror.state.at.line == 0)
        continue;
      if (first == nullptr) first = &mirror.at;
      mirror.role.reset();
      mirror.tags.reset();
      mirror.weight = {1, {}};
      mirror.state = {ServiceState::ready, {}};
    }
    if (first != nullptr)
      notices_.push_back(
          {*first,
           "role, tags, weight and state are ignored in a blackhole: each agent gets a copy"});
  }

  void inherit_tables(std::string_view own_table) {
    std::vector<std::string> nearest{std::string(own_table)};
    for (auto mirror = shard_.mirrors.rbegin(); mirror != shard_.mirrors.rend(); ++mirror)
      if (mirror->tables.empty())
        mirror->tables = nearest;
      else
        nearest = mirror->tables;
  }

  const SourceText& line_;
  const std::string& text_;
  Problems& problems_;
  Problems& notices_;
  ShardSettings shard_;
  const MirrorSettings mirror_above_;
};

}  // namespace

bool is_table_name(std::string_view name) {
  const auto letter = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || c == '-' || c == '.';
  });
}

ShardSettings parse_agent_line(const SourceText& line, std::string_view own_table,
                               Problems& problems, Problems& notices, ShardSettings line_above,
                               MirrorSettings mirror_above) {
  return AgentLineReader(line, problems, notices, std::move(line_above), std::move(mirror_above))
      .run(own_table);
}

std::string text(const MirrorSettings& mirror, const TableSettings& table) {
  auto out = fmt::format("{}:{}", text(mirror.address), fmt::join(mirror.tables, ","));
  const auto options = mirror_options_text(mirror, table);
  return options.empty() ? out : fmt::format("{}[{}]", out, options);
}

std::string text(const ShardSettings& shard, const TableSettings& table) {
  std::vector<std::string> mirrors;
  for (const auto& mirror : shard.mirrors) mirrors.push_back(text(mirror, table));
  auto line = fmt::format("{}", fmt::join(mirrors, "|"));
  const auto options = line_options_text(shard, table);
  return options.empty() ? line : fmt::format("{} [{}]", line, options);
}

}  // namespace karmad
