#include "config/agent_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <set>

#include "config/settings/attempts.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"
#include "config/text/closest.hpp"

namespace karmad {

namespace {

constexpr std::size_t kMirrorOptions = 8;
/// Options of a mirror first. The inherited ones are those of mirror_keys() and line_keys().
constexpr std::array<std::string_view, 15> kOptions{
    "role",      "tags",        "weight",         "state",     "max_in_flight",
    "resolve",   "agent_tls",   "agent_tls_name", "conn",      "ha_strategy",
    "blackhole", "retry_count", "ping_type",      "ping_path", "set"};

class OptionsReader {
 public:
  OptionsReader(const SourceText& options, OptionsOf whose, MirrorSettings& mirror,
                ShardSettings& line, Problems& problems)
      : options_(options),
        text_(options.text()),
        whose_(whose),
        mirror_(mirror),
        line_(line),
        problems_(problems) {}

  void run() {
    if (cut(text_).empty()) return;
    for (const auto option : std::views::split(text_, ','))
      read_option(cut(std::string_view(option)));
  }

 private:
  void problem(std::size_t offset, std::string message) {
    problems_.push_back({options_.place(offset), std::move(message)});
  }
  /// Without white space at both ends; data() still points into the text.
  static std::string_view cut(std::string_view part) { return trimmed(part, " \t"); }
  std::size_t offset(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - text_.data());
  }

  void read_option(std::string_view option) {
    const auto begin = offset(option);
    if (option.empty()) return problem(begin, "an option is missing here");
    const auto equals = option.find('=');
    if (equals == std::string_view::npos)
      return problem(begin,
                     fmt::format("the option {} is not of the form name=value{}", in_quotes(option),
                                 previous_ == "tags" ? "; tags are separated by ';'" : ""));
    const auto name = lower(cut(option.substr(0, equals)));
    auto value = cut(option.substr(equals + 1));
    const auto at = offset(value);
    previous_ = name;
    if (const auto blank = value.find_first_of(" \t"); blank != std::string_view::npos) {
      problem(at + blank, "a comma is needed between two options");
      const auto next = cut(value.substr(blank));
      value = value.substr(0, blank);
      set_option(name, value, begin, at);
      if (next.find('=') != next.npos) read_option(next);
      return;
    }
    set_option(name, value, begin, at);
  }

  /// Sets an option even after a mistake that does not concern its value, so that this is checked.
  void set_option(const std::string& name, std::string_view value, std::size_t begin,
                  std::size_t at) {
    const auto known = std::find(kOptions.begin(), kOptions.end(), name);
    if (known == kOptions.end())
      return problem(begin,
                     fmt::format("unknown option {}{}; known are {} behind a mirror and {} at the "
                                 "end of the line",
                                 in_quotes(name), suggestion(name, kOptions),
                                 fmt::join(mirror_option_names(), ", "),
                                 fmt::join(line_option_names(), ", ")));
    const auto owner =
        known < kOptions.begin() + kMirrorOptions ? OptionsOf::mirror : OptionsOf::line;
    const bool belongs = belongs_here(*known, owner, begin);
    if (belongs && !seen_.insert(*known).second)
      problem(begin, fmt::format("the option {} is given twice", name));
    if (value.empty()) return problem(at, fmt::format("the option {} has no value", name));
    if (owner == OptionsOf::mirror) return set_mirror_option(name, value, at);
    const bool was_blackhole = line_.blackhole;
    set_line_option(name, value, at);
    // Misplaced, it does not take the shard away: the table would be reported as empty, too.
    if (!belongs) line_.blackhole = was_blackhole;
  }

  bool belongs_here(std::string_view name, OptionsOf owner, std::size_t at) {
    if (whose_ == OptionsOf::either) {
      whose_ = owner;
      decided_by_ = name;
    }
    if (owner == whose_) return true;
    const bool of_line = owner == OptionsOf::line;
    if (!decided_by_.empty())
      problem(at, fmt::format("a bracket holds options of a mirror or of the line, never both; "
                              "write [{}=…][{}=…]",
                              of_line ? decided_by_ : name, of_line ? name : decided_by_));
    else if (of_line)
      problem(at, fmt::format("{} holds for the whole line: it belongs in the bracket at the end "
                              "of the line",
                              name));
    else
      problem(at, fmt::format("{} holds for one mirror: it belongs in the bracket right behind "
                              "that mirror",
                              name));
    return false;
  }

  void set_mirror_option(std::string_view name, std::string_view value, std::size_t at) {
    if (set_inherited(mirror_keys(), mirror_, name, value, at)) return;
    if (name == "weight") {
      if (const auto weight = number(name, value, kMostWeight, at))
        mirror_.weight = {*weight, options_.place(at)};
    } else if (name == "state") {
      const auto state = parse_value<ServiceState>(lower(value), {});
      if (!state) return problem(at + state.error().offset, state.error().why);
      mirror_.state = {*state, options_.place(at)};
    } else {
      (name == "role" ? mirror_.role : mirror_.tags) = located(value, at);
    }
  }

  void set_line_option(std::string_view name, std::string_view value, std::size_t at) {
    if (set_inherited(line_keys(), line_, name, value, at)) return;
    const auto word = lower(value);
    if (name == "conn") {
      line_.persistent = true;
      if (word != "pconn" && word != "persistent")
        problem(at, fmt::format("conn is persistent or pconn, not {}", in_quotes(word)));
    } else if (name == "blackhole") {
      const auto on = parse_switch(word);
      if (!on) return problem(at + on.error().offset, on.error().why);
      line_.blackhole = *on;
    } else if (name == "retry_count") {
      line_.retry_count = number(name, value, kMostRetries, at);
    } else {
      line_.set_name = located(value, at);
    }
  }

  /// False if no key has this name.
  template <class Owner>
  bool set_inherited(std::span<const Key<Owner>> keys, Owner& owner, std::string_view name,
                     std::string_view value, std::size_t at) {
    const auto key = std::ranges::find(keys, name, &Key<Owner>::name);
    if (key == keys.end()) return false;
    std::visit([&](const auto field) { set(owner, field, *key, value, at); }, key->field);
    return true;
  }

  template <class Owner, class Other>
  void set(Owner&, Other, const Key<Owner>&, std::string_view, std::size_t) {}
  template <class Owner, Setting Value>
  void set(Owner& owner, Value Owner::*field, const Key<Owner>& key, std::string_view value,
           std::size_t at) {
    if (auto read = inherited<ValueOf<Value>>(key.bounds, value, at))
      owner.*field = std::move(*read);
  }

  /// A path keeps its case; all other values are case-insensitive.
  template <class T>
  std::optional<Located<T>> inherited(const Bounds& bounds, std::string_view value,
                                      std::size_t at) {
    const auto text = value.starts_with('/') ? std::string(value) : lower(value);
    auto read = parse_value<T>(text, bounds);
    if (read) return Located<T>{std::move(*read), options_.place(at)};
    problem(at + read.error().offset, read.error().why);
    return std::nullopt;
  }

  Located<std::string> located(std::string_view value, std::size_t at) const {
    return {std::string(value), options_.place(at)};
  }

  std::optional<unsigned> number(std::string_view name, std::string_view value, unsigned most,
                                 std::size_t at) {
    const auto count = parse_count(value);
    if (!count) {
      problem(at + count.error().offset, count.error().why);
    } else if (*count > most) {
      problem(at, fmt::format("{} is larger than {}", name, most));
    } else {
      return static_cast<unsigned>(*count);
    }
    return std::nullopt;
  }

  const SourceText& options_;
  const std::string_view text_;
  OptionsOf whose_;
  MirrorSettings& mirror_;
  ShardSettings& line_;
  Problems& problems_;
  std::string_view decided_by_;  ///< the option by which `either` became one of the two
  std::string previous_;
  std::set<std::string_view> seen_;
};

/// Writes `name=value` for each option that is set, separated by commas.
class OptionsText {
 public:
  void add(std::string_view name, std::string_view value) {
    if (!out_.empty()) out_ += separator_;
    out_ += fmt::format("{}={}", name, value);
  }
  void add(std::string_view name, const std::optional<Located<std::string>>& value) {
    if (value) add(name, value->value);
  }
  /// The inherited setting of that name, if the owner sets it itself.
  template <class Owner>
  void add_own(std::string_view name, std::span<const Key<Owner>> keys, const Owner& owner,
               const Owner& above) {
    for (const auto& key : keys)
      if (key.name == name)
        std::visit([&](const auto field) { add_own(key, owner, above, field); }, key.field);
  }
  explicit OptionsText(std::string_view separator) : separator_(separator) {}
  std::string take() { return std::move(out_); }

 private:
  template <class Owner, class Field>
  void add_own(const Key<Owner>& key, const Owner& owner, const Owner& above, Field field) {
    if constexpr (requires { if_set(owner.*field); })
      if (const auto* const setting = if_set(owner.*field);
          setting != nullptr && is_own(owner.*field, above.*field))
        add(key.name, value_text(setting->value, key.bounds));
  }

  std::string_view separator_;
  std::string out_;
};

}  // namespace

void read_agent_options(const SourceText& options, OptionsOf whose, MirrorSettings& mirror,
                        ShardSettings& line, Problems& problems) {
  OptionsReader(options, whose, mirror, line, problems).run();
}

std::string mirror_options_text(const MirrorSettings& mirror, const TableSettings& table) {
  OptionsText out(",");
  const auto above = empty_mirror(table);
  for (const auto name : mirror_option_names()) {
    out.add_own(name, mirror_keys(), mirror, above);
    if (name == "role") out.add(name, mirror.role);
    if (name == "tags") out.add(name, mirror.tags);
    if (name == "weight" && mirror.weight.at.line != 0)
      out.add(name, fmt::format("{}", mirror.weight.value));
    if (name == "state" && mirror.state.value != ServiceState::ready)
      out.add(name, word(mirror.state.value));
  }
  return out.take();
}

std::string line_options_text(const ShardSettings& line, const TableSettings& table) {
  OptionsText out(", ");
  const auto above = empty_line(table);
  for (const auto name : line_option_names()) {
    out.add_own(name, line_keys(), line, above);
    if (name == "conn" && line.persistent) out.add(name, "persistent");
    if (name == "retry_count" && line.retry_count)
      out.add(name, fmt::format("{}", *line.retry_count));
    if (name == "set") out.add(name, line.set_name);
  }
  return out.take();
}

std::span<const std::string_view> mirror_option_names() {
  return std::span(kOptions).first(kMirrorOptions);
}
std::span<const std::string_view> line_option_names() {
  return std::span(kOptions).subspan(kMirrorOptions);
}

}  // namespace karmad
