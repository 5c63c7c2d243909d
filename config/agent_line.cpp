#include "config/agent_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "config/address.hpp"
#include "config/closest.hpp"
#include "config/units.hpp"

namespace karmad {

namespace {

constexpr std::array<std::string_view, 4> kOptions{"conn", "ha_strategy", "blackhole",
                                                   "retry_count"};

/// Half open; offsets into the line.
struct Range {
  std::size_t begin;
  std::size_t end;
};

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_table_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || c == '-' || c == '.';
  });
}

class AgentLineReader {
 public:
  AgentLineReader(const Passage& line, Problems& problems, Problems& notices,
                  ShardSettings defaults)
      : line_(line),
        text_(line.text()),
        problems_(problems),
        notices_(notices),
        shard_(std::move(defaults)) {}

  std::optional<ShardSettings> run(std::string_view own_table) {
    shard_.line = text_;
    shard_.at = line_.place(0);
    const auto before = problems_.size();
    read_line();
    if (problems_.size() != before) return std::nullopt;
    if (shard_.mirrors.empty()) {
      problem(0, "the line names no agent; it needs host:port:table");
      return std::nullopt;
    }
    inherit_tables(own_table);
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
    while (range.begin < range.end && is_blank(text_[range.begin])) ++range.begin;
    while (range.begin < range.end && is_blank(text_[range.end - 1])) --range.end;
    return range;
  }
  /// The first `c` in [begin, end), or end.
  std::size_t find(char c, std::size_t begin, std::size_t end) const {
    return std::min(text_.find(c, begin), end);
  }

  /// Splits the line at pipes, up to the bracket with the options.
  void read_line() {
    Range piece{0, 0};
    bool at_start = true;  // of a mirror: here a bracket holds an IPv6 address
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '|') {
        read_mirror({piece.begin, i}, Next::pipe);
        piece.begin = i + 1;
        at_start = true;
      } else if (c == '[') {
        const auto close = find(']', i, text_.size());
        const bool options = view({i, close}).find('=') != std::string_view::npos;
        if (!at_start || options) {
          read_mirror({piece.begin, i}, Next::options);
          return read_options(i);
        }
        if (close == text_.size()) return problem(i, "the '[' of an IPv6 address has no ']'");
        i = close;
        at_start = false;
      } else if (!is_blank(c)) {
        at_start = false;
      }
    }
    read_mirror({piece.begin, text_.size()}, Next::end);
  }

  enum class Next { pipe, options, end };

  void read_mirror(Range piece, Next next) {
    piece = trim(piece);
    if (piece.begin == piece.end) {
      if (next == Next::pipe || !shard_.mirrors.empty())
        notices_.push_back({line_.place(piece.begin), "nothing stands between two '|'; skipped"});
      return;
    }
    MirrorSettings mirror;
    mirror.at = line_.place(piece.begin);
    auto host = Range{piece.begin, find(':', piece.begin, piece.end)};
    if (text_[piece.begin] == '[') host.end = text_.find(']', piece.begin) + 1;
    const auto rest = Range{host.end, piece.end};
    const auto before = problems_.size();
    if (text_[piece.begin] == '/')
      read_unix(host, rest, mirror);
    else
      read_host(host, rest, mirror);
    // A mirror with a mistake is kept, so that the line does not also seem to be empty.
    shard_.mirrors.push_back(std::move(mirror));
    if (problems_.size() > before + 1) problems_.resize(before + 1);  // the first explains the rest
  }

  void read_unix(Range path, Range rest, MirrorSettings& mirror) {
    auto parsed = parse_unix_path(view(path));
    if (!parsed) return problem(path.begin, parsed.error());
    mirror.address.unix_path = std::move(*parsed);
    if (rest.begin < rest.end) read_tables({rest.begin + 1, rest.end}, mirror);
  }

  void read_host(Range host, Range rest, MirrorSettings& mirror) {
    const auto whole = view({host.begin, rest.end});
    if (whole[0] != '[' && (whole.find("::") != std::string_view::npos ||
                            std::count(whole.begin(), whole.end(), ':') == 7))
      return problem(host.begin, "an IPv6 address stands in brackets, as in [::1]:9308:table");
    auto parsed = parse_host(view(host));
    if (!parsed) return problem(host.begin, parsed.error());
    mirror.address.host = std::move(*parsed);
    mirror.address.port = kDefaultPort;
    if (rest.begin < rest.end && text_[rest.begin] != ':')
      return problem(rest.begin, fmt::format("expected ':' after the host, found {}",
                                             in_quotes(text_.substr(rest.begin, 1))));
    const auto field =
        rest.begin == rest.end ? rest : Range{rest.begin + 1, find(':', rest.begin + 1, rest.end)};
    if (!is_number(view(field))) {
      notices_.push_back({mirror.at, fmt::format("{} is given no port; {} is taken",
                                                 in_quotes(view(host)), kDefaultPort)});
      if (rest.begin < rest.end) read_tables({rest.begin + 1, rest.end}, mirror);
      return;
    }
    const auto port = parse_port(view(field));
    if (!port) return problem(field.begin, port.error());
    if (*port == 0) return problem(field.begin, "an agent cannot have port 0");
    mirror.address.port = *port;
    if (field.end < rest.end) read_tables({field.end + 1, rest.end}, mirror);
  }

  void read_tables(Range tables, MirrorSettings& mirror) {
    for (auto begin = tables.begin; begin <= tables.end;) {
      const auto end = find(',', begin, tables.end);
      const auto name = trim({begin, end});
      const auto word = view(name);
      if (word.empty()) return problem(name.begin, "the name of a table is missing");
      if (word.find_first_of(" \t") != std::string_view::npos)
        return problem(name.begin + word.find_first_of(" \t"),
                       "a blank inside the name of a table; several tables are separated by ','");
      if (const auto colon = word.find(':'); colon != std::string_view::npos)
        return problem(name.begin + colon,
                       fmt::format("no ':' can follow the table {}; a mirror is host:port:table",
                                   in_quotes(word.substr(0, colon))));
      if (!is_table_name(word))
        return problem(name.begin, fmt::format("{} is not the name of a table", in_quotes(word)));
      mirror.tables.emplace_back(word);
      begin = end + 1;
    }
  }

  void read_options(std::size_t open) {
    const auto close = text_.find(']', open);
    if (close == std::string::npos) return problem(open, "the '[' of the options has no ']'");
    const auto rest = trim({close + 1, text_.size()});
    if (rest.begin < rest.end && text_[rest.begin] == '|')
      return problem(open,
                     "options stand once, at the end of the line, and hold for all its mirrors");
    if (rest.begin < rest.end)
      return problem(rest.begin, fmt::format("nothing can follow the options, found {}",
                                             in_quotes(view(rest))));
    if (trim({open + 1, close}).begin == close) return;
    for (auto begin = open + 1; begin <= close;) {
      const auto end = find(',', begin, close);
      read_option(trim({begin, end}));
      begin = end + 1;
    }
  }

  void read_option(Range option) {
    const auto equals = find('=', option.begin, option.end);
    if (option.begin == option.end) return problem(option.begin, "an option is missing here");
    if (equals == option.end)
      return problem(option.begin, fmt::format("the option {} is not of the form name=value",
                                               in_quotes(view(option))));
    const auto name = lower(view(trim({option.begin, equals})));
    const auto value = trim({equals + 1, option.end});
    const auto word = lower(view(value));
    if (const auto blank = word.find_first_of(" \t"); blank != std::string::npos)
      return problem(value.begin + blank, "a comma is needed between two options");
    if (std::find(kOptions.begin(), kOptions.end(), name) == kOptions.end())
      return problem(option.begin, fmt::format("unknown option {}{}; known are conn, ha_strategy, "
                                               "blackhole, retry_count",
                                               in_quotes(name), suggestion(name, kOptions)));
    if (!seen_.insert(name).second)
      return problem(option.begin, fmt::format("the option {} is given twice", name));
    set_option(name, word, value.begin);
  }

  void set_option(std::string_view name, const std::string& word, std::size_t offset) {
    if (word.empty()) return problem(offset, fmt::format("the option {} has no value", name));
    if (name == "conn") {
      shard_.persistent = true;
      if (word != "pconn" && word != "persistent")
        problem(offset, fmt::format("conn is persistent or pconn, not {}", in_quotes(word)));
    } else if (name == "ha_strategy") {
      shard_.ha_strategy = Located<std::string>{word, line_.place(offset)};
    } else if (name == "blackhole") {
      const auto on = parse_switch(word);
      if (!on) return problem(offset, on.error());
      shard_.blackhole = *on;
    } else {
      const auto count = parse_count(word);
      if (!count) return problem(offset, count.error());
      if (*count > kMostRetries)
        return problem(offset, fmt::format("retry_count is larger than {}", kMostRetries));
      shard_.retry_count = static_cast<unsigned>(*count);
    }
  }

  void inherit_tables(std::string_view own_table) {
    std::vector<std::string> nearest{std::string(own_table)};
    for (auto mirror = shard_.mirrors.rbegin(); mirror != shard_.mirrors.rend(); ++mirror)
      if (mirror->tables.empty())
        mirror->tables = nearest;
      else
        nearest = mirror->tables;
  }

  const Passage& line_;
  const std::string& text_;
  Problems& problems_;
  Problems& notices_;
  ShardSettings shard_;
  std::set<std::string> seen_;
};

}  // namespace

std::optional<ShardSettings> parse_agent_line(const Passage& line, std::string_view own_table,
                                              Problems& problems, Problems& notices,
                                              ShardSettings defaults) {
  return AgentLineReader(line, problems, notices, std::move(defaults)).run(own_table);
}

std::string text(const ShardSettings& shard) {
  std::vector<std::string> mirrors;
  for (const auto& mirror : shard.mirrors)
    mirrors.push_back(fmt::format("{}:{}", text(mirror.address), fmt::join(mirror.tables, ",")));
  std::vector<std::string> options;
  if (shard.persistent) options.emplace_back("conn=persistent");
  if (shard.ha_strategy) options.push_back("ha_strategy=" + shard.ha_strategy->value);
  if (shard.retry_count) options.push_back(fmt::format("retry_count={}", *shard.retry_count));
  auto line = fmt::format("{}", fmt::join(mirrors, "|"));
  return options.empty() ? line : fmt::format("{} [{}]", line, fmt::join(options, ", "));
}

}  // namespace karmad
