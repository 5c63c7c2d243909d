#include "balancer/simulate/scenario/scenario.hpp"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <span>

#include "config/text/closest.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

// Made from the files of scenarios/ by embed.cmake.
extern "C" const char karmad_scenarios[];      // NOLINT(readability-identifier-naming): a symbol
extern "C" const char karmad_scenarios_end[];  // NOLINT(readability-identifier-naming)

namespace karmad::simulate {
namespace {

using Assigned = std::expected<void, std::string>;
constexpr double kLongestMs = 3'600'000;

/// In (0, 1], so that it has a logarithm.
double positive(SeededRandom& random) {
  return 1 - random.uniform();
}

Micros from_ms(double ms) {
  return Micros{std::llround(ms * 1000)};
}

std::vector<std::string_view> split_at_colons(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(':');
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Assigned wrong(std::string_view usage) {
  return std::unexpected(fmt::format("expected {}", usage));
}

Assigned set_number(double& to, std::string_view value, double least, double most) {
  const auto number = parse_number(value, least, most);
  if (!number) return wrong(fmt::format("a number from {} to {}", least, most));
  to = *number;
  return {};
}

template <class Unsigned>
Assigned set_count(Unsigned& to, std::string_view value, unsigned least, unsigned most) {
  const auto number = number_in<unsigned>(value);
  if (!number || *number < least || *number > most)
    return wrong(fmt::format("a whole number from {} to {}", least, most));
  to = *number;
  return {};
}

Assigned set_service(MirrorProfile& profile, std::string_view value) {
  constexpr std::string_view kUsage =
      "none, fixed:MS, exp:MEAN_MS, lognormal:MEDIAN_MS:SIGMA or two:MS:OTHER_MS:PART";
  using Kind = ServiceTime::Kind;
  const auto parts = split_at_colons(value);
  ServiceTime service;
  if (parts[0] == "none" && parts.size() == 1) return profile.service = service, Assigned();
  if (parts[0] == "fixed" && parts.size() == 2) service.kind = Kind::fixed;
  if (parts[0] == "exp" && parts.size() == 2) service.kind = Kind::exponential;
  if (parts[0] == "lognormal" && parts.size() == 3) service.kind = Kind::lognormal;
  if (parts[0] == "two" && parts.size() == 4) service.kind = Kind::two;
  if (service.kind == Kind::none) return wrong(kUsage);
  const auto ms = parse_number(parts[1], 0.001, kLongestMs);
  const auto sigma = service.kind == Kind::lognormal ? parse_number(parts[2], 0, 5) : 0;
  const auto other = service.kind == Kind::two ? parse_number(parts[2], 0.001, kLongestMs) : 0;
  const auto part = service.kind == Kind::two ? parse_number(parts[3], 0, 1) : 0;
  if (!ms || !sigma || !other || !part) return wrong(kUsage);
  service.ms = *ms;
  service.sigma = *sigma;
  service.other_ms = *other;
  service.other_part = *part;
  profile.service = service;
  return {};
}

Assigned set_stall(MirrorProfile& profile, std::string_view value) {
  if (value == "off") {
    profile.stall_every = profile.stall_for = {};
    return {};
  }
  const auto parts = split_at_colons(value);
  const auto every = parse_number(parts[0], 1, kLongestMs);
  const auto pause = parts.size() == 2 ? parse_number(parts[1], 1, kLongestMs) : std::nullopt;
  if (!every || !pause || *pause >= *every) return wrong("off, or EVERY_MS:PAUSE_MS");
  profile.stall_every = from_ms(*every);
  profile.stall_for = from_ms(*pause);
  return {};
}

Assigned set_mode(MirrorProfile& profile, std::string_view value) {
  using enum MirrorProfile::Mode;
  constexpr std::array<std::pair<std::string_view, MirrorProfile::Mode>, 4> kModes{
      {{"ok", ok}, {"refuse", refuse}, {"blackhole", blackhole}, {"freeze", freeze}}};
  for (const auto& [name, mode] : kModes)
    if (name == value) return profile.mode = mode, Assigned();
  return wrong("ok, refuse, blackhole or freeze");
}

Assigned set_cold(MirrorProfile& profile, std::string_view value) {
  const auto parts = split_at_colons(value);
  const auto factor = parse_number(parts[0], 1, 1000);
  unsigned requests = 0;
  if (!factor || parts.size() != 2 || !set_count(requests, parts[1], 1, 100'000'000))
    return wrong("FACTOR:REQUESTS, such as 8:2000");
  profile.cold_factor = *factor;
  profile.cold_requests = requests;
  ++profile.cold_starts;
  return {};
}

Assigned set_delay(Micros& to, std::string_view value) {
  double ms = 0;
  if (auto done = set_number(ms, value, 0, 60'000); !done) return done;
  to = from_ms(ms);
  return {};
}

struct ProfileKey {
  std::string_view name;
  Assigned (*set)(MirrorProfile&, std::string_view value);
};
using P = MirrorProfile;
using V = std::string_view;
constexpr std::array kKeys{
    ProfileKey{"svc", set_service},
    ProfileKey{"slow", [](P& p, V v) { return set_number(p.slow, v, 0.001, 1e6); }},
    ProfileKey{"k", [](P& p, V v) { return set_count(p.servers, v, 0, 100'000); }},
    ProfileKey{"queue",
               [](P& p, V v) {
                 if (v == "-1") return p.queue.reset(), Assigned();
                 return set_count(p.queue, v, 0, 1'000'000);
               }},
    ProfileKey{"rate", [](P& p, V v) { return set_number(p.rate, v, 0, 1e8); }},
    ProfileKey{"over", [](P& p, V v) { return set_count(p.overload_status, v, 400, 599); }},
    ProfileKey{"retry_after", [](P& p, V v) { return set_count(p.retry_after, v, 0, 3600); }},
    ProfileKey{"err", [](P& p, V v) { return set_number(p.errors, v, 0, 1); }},
    ProfileKey{"errcode", [](P& p, V v) { return set_count(p.error_status, v, 400, 599); }},
    ProfileKey{"errms", [](P& p, V v) { return set_delay(p.error_delay, v); }},
    ProfileKey{"rst", [](P& p, V v) { return set_number(p.resets, v, 0, 1); }},
    ProfileKey{"stall", set_stall},
    ProfileKey{"mode", set_mode},
    ProfileKey{"health",
               [](P& p, V v) {
                 if (v != "follow" && v != "ok") return wrong("ok or follow");
                 p.pings_see_errors = v == "follow";
                 return Assigned();
               }},
    ProfileKey{"load",
               [](P& p, V v) {
                 if (v != "report" && v != "off") return wrong("report or off");
                 p.reports_load = v == "report";
                 return Assigned();
               }},
    ProfileKey{"cold", set_cold},
    ProfileKey{"net", [](P& p, V v) { return set_delay(p.network, v); }},
};
constexpr auto kNames = [] {
  std::array<std::string_view, kKeys.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kKeys[i].name;
  return names;
}();

constexpr double kLongestRun = 86'400;  // s

struct Word {
  std::string_view text;
  unsigned column = 0;
};

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      ++i;
      continue;
    }
    const auto end = std::min(line.find_first_of(" \t\r", i), line.size());
    words.push_back({line.substr(i, end - i), static_cast<unsigned>(i) + 1});
    i = end;
  }
  return words;
}

std::optional<unsigned> parse_count(std::string_view text, unsigned most) {
  const auto number = number_in<unsigned>(text);
  return number && *number >= 1 && *number <= most ? number : std::nullopt;
}

/// `m2`, `m2-m5` or `all`.
std::optional<MirrorRange> parse_range(std::string_view text) {
  if (text == "all") return MirrorRange{};
  const auto number = [](std::string_view name) {
    return name.starts_with('m') ? parse_count(name.substr(1), kMostMirrors) : std::nullopt;
  };
  const auto dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == text.npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return MirrorRange{*first, *last};
}

class ScenarioReader {
 public:
  ScenarioReader(const std::string& file, Scenario& scenario) : file_(file), scenario_(scenario) {}

  void read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      statement(take_until(text, '\n'));
    }
    std::ranges::stable_sort(scenario_.changes, {}, &MirrorChange::time);
    std::ranges::stable_sort(scenario_.rate_changes, {}, &RateChange::time);
  }
  Problems problems;

 private:
  using Words = std::span<const Word>;
  struct Statement {
    std::string_view name;
    void (*read)(ScenarioReader&, Words);
  };

  void statement(std::string_view line) {
    line_text_ = line.substr(0, line.find('#'));
    const auto words = words_of(line_text_);
    if (words.empty() || problems.size() >= kEnoughProblems) return;
    using R = ScenarioReader;
    using W = Words;
    static constexpr Statement kStatements[]{
        {"about", [](R& r, W w) { r.scenario_.about = r.rest_after(w[0]); }},
        {"mirrors", [](R& r, W w) { r.count(w, r.scenario_.mirrors, kMostMirrors); }},
        {"masters", [](R& r, W w) { r.count(w, r.scenario_.masters, kMostMasters); }},
        {"rate", [](R& r, W w) { r.number(w, r.scenario_.rate, 0.001, 1e8); }},
        {"duration", [](R& r, W w) { r.number(w, r.scenario_.duration, 0.1, kLongestRun); }},
        {"warmup", [](R& r, W w) { r.number(w, r.scenario_.warmup, 0, kLongestRun); }},
        {"slo", [](R& r, W w) { r.number(w, r.scenario_.slo, 0.001, kLongestMs); }},
        {"timeout", [](R& r, W w) { r.number(w, r.scenario_.timeout, 1, kLongestMs); }},
        {"profile", [](R& r, W w) { r.read_profile(w); }},
        {"mirror", [](R& r, W w) { r.read_mirror(w); }},
        {"at", [](R& r, W w) { r.read_at(w); }},
        {"rate_at", [](R& r, W w) { r.read_rate_at(w); }},
        {"set", [](R& r, W w) { r.read_set(w); }},
    };
    std::vector<std::string_view> names;
    for (const auto& known : kStatements) {
      if (known.name == words[0].text) return known.read(*this, words);
      names.push_back(known.name);
    }
    problem(words[0], fmt::format("unknown statement {}{}; known: {}", in_quotes(words[0].text),
                                  suggestion(words[0].text, names), fmt::join(names, ", ")));
  }

  void problem(const Word& at, std::string message) {
    problems.push_back({place(at), std::move(message)});
  }
  Place place(const Word& at) const { return {file_, line_, at.column}; }

  void keep(Words words, const Assigned& done) {
    if (!done) problem(words.back(), fmt::format("{} after {}", done.error(), words[0].text));
  }
  static std::string_view value_in(Words words) {
    return words.size() == 2 ? words[1].text : std::string_view();
  }
  void number(Words words, double& to, double least, double most) {
    keep(words, set_number(to, value_in(words), least, most));
  }
  void count(Words words, unsigned& to, unsigned most) {
    keep(words, set_count(to, value_in(words), 1, most));
  }

  std::string_view rest_after(const Word& word) const {
    auto rest = line_text_.substr(word.column - 1 + word.text.size());
    const auto begin = rest.find_first_not_of(" \t");
    if (begin == rest.npos) return {};
    rest.remove_prefix(begin);
    return rest.substr(0, rest.find_last_not_of(" \t\r") + 1);
  }
  void read_set(Words words) {
    const auto setting = rest_after(words[0]);
    if (setting.find('=') == setting.npos)
      return problem(words[0], "expected set KEY = VALUE, with a key of searchd");
    scenario_.settings.push_back({std::string(setting), place(words[1])});
  }

  /// `key=value …`; each is tried on a profile that is not used.
  bool read_assignments(Words words, Assignments& to, std::optional<unsigned>* weight) {
    MirrorProfile trial;
    bool good = !words.empty();
    for (const auto& word : words) {
      const auto equals = word.text.find('=');
      const auto key = word.text.substr(0, equals);
      const auto value =
          equals == word.text.npos ? std::string_view() : word.text.substr(equals + 1);
      const auto before = problems.size();
      if (equals == word.text.npos) {
        problem(word, fmt::format("expected key=value, not {}", in_quotes(word.text)));
      } else if (key == "weight" && weight != nullptr) {
        read_weight(word, value, *weight);
      } else if (std::ranges::find(kNames, key) == kNames.end()) {
        problem(word, fmt::format("unknown key {}{}; known: {}", in_quotes(key),
                                  suggestion(key, kNames), fmt::join(kNames, ", ")));
      } else if (const auto done = assign(trial, key, value); !done) {
        problem(word, fmt::format("{}: {}", key, done.error()));
      } else {
        to.emplace_back(key, value);
      }
      good = good && problems.size() == before;
    }
    return good;
  }
  void read_weight(const Word& word, std::string_view value, std::optional<unsigned>& to) {
    to = parse_count(value, 1000);
    if (!to) problem(word, "weight: expected a whole number from 1 to 1000");
  }

  std::optional<MirrorRange> read_range(const Word& word) {
    const auto range = parse_range(word.text);
    if (!range)
      problem(word, fmt::format("expected mirrors, such as m2, m2-m5 or all, not {}",
                                in_quotes(word.text)));
    return range;
  }
  void read_profile(Words words) {
    if (words.size() < 2) return problem(words[0], "expected profile KEY=VALUE …");
    read_assignments(words.subspan(1), scenario_.profile, nullptr);
  }
  void read_mirror(Words words) {
    if (words.size() < 3) return problem(words.back(), "expected mirror m2 KEY=VALUE …");
    const auto range = read_range(words[1]);
    MirrorStatement statement;
    if (!read_assignments(words.subspan(2), statement.profile, &statement.weight) || !range) return;
    statement.mirrors = *range;
    statement.at = place(words[1]);
    scenario_.mirror_statements.push_back(std::move(statement));
  }
  std::optional<Micros> read_time(const Word& word) {
    const auto seconds = parse_number(word.text, 0, kLongestRun);
    if (seconds) return Micros{static_cast<std::int64_t>(*seconds * 1e6)};
    problem(word, fmt::format("expected seconds from 0 to {}", kLongestRun));
    return std::nullopt;
  }
  void read_at(Words words) {
    if (words.size() < 4) return problem(words.back(), "expected at SECONDS m2 KEY=VALUE …");
    const auto time = read_time(words[1]);
    const auto range = read_range(words[2]);
    MirrorChange change;
    if (!read_assignments(words.subspan(3), change.profile, nullptr) || !time || !range) return;
    change.mirrors = *range;
    change.time = *time;
    change.at = place(words[2]);
    change.text = rest_after(words[1]);
    scenario_.changes.push_back(std::move(change));
  }
  void read_rate_at(Words words) {
    if (words.size() != 3) return problem(words.back(), "expected rate_at SECONDS RATE");
    const auto time = read_time(words[1]);
    const auto rate = parse_number(words[2].text, 0.001, 1e8);
    if (!rate) problem(words[2], "expected a rate from 0.001 to 1e8");
    if (time && rate) scenario_.rate_changes.push_back({*time, *rate});
  }

  const std::string& file_;
  Scenario& scenario_;
  unsigned line_ = 0;
  std::string_view line_text_;
};

void check_range(const Scenario& scenario, const MirrorStatement& statement, Problems& problems) {
  if (statement.mirrors.last > scenario.mirrors)
    problems.push_back({statement.at, fmt::format("there is no mirror m{}: the simulation has {}",
                                                  statement.mirrors.last, scenario.mirrors)});
}

/// The most requests that the rates can cause.
double most_requests(const Scenario& scenario) {
  auto rate = scenario.rate;
  for (const auto& change : scenario.rate_changes) rate = std::max(rate, change.rate);
  return rate * (scenario.duration + scenario.warmup);
}

constexpr std::string_view kTitle = "scenario ";

std::vector<Scenario> read_library() {
  std::vector<Scenario> library;
  std::string_view all(karmad_scenarios,
                       static_cast<std::size_t>(karmad_scenarios_end - karmad_scenarios));
  while (all.starts_with(kTitle)) {
    const auto line_end = all.find('\n');
    const std::string name(all.substr(kTitle.size(), line_end - kTitle.size()));
    const auto next = all.find("\nscenario ", line_end);
    const auto text = all.substr(line_end + 1, next == all.npos ? all.npos : next - line_end);
    auto scenario = parse_scenario(text, name + ".scn", name);
    assert(scenario);  // a test reads them all
    library.push_back(*std::move(scenario));
    all.remove_prefix(next == all.npos ? all.size() : next + 1);
  }
  return library;
}

}  // namespace

double ServiceTime::draw(SeededRandom& random) const {
  switch (kind) {
    case Kind::none:
      break;
    case Kind::fixed:
      return ms * 1000;
    case Kind::exponential:
      return -ms * 1000 * std::log(positive(random));
    case Kind::two:
      return (random.uniform() < other_part ? other_ms : ms) * 1000;
    case Kind::lognormal: {
      // Box and Muller; the second of the two numbers is not used.
      const auto radius = std::sqrt(-2 * std::log(positive(random)));
      const auto normal = radius * std::cos(2 * std::numbers::pi * random.uniform());
      return ms * 1000 * std::exp(sigma * normal);
    }
  }
  return 0;
}

double ServiceTime::mean_micros() const {
  if (kind == Kind::none) return 0;
  if (kind == Kind::two) return (ms + other_part * (other_ms - ms)) * 1000;
  return ms * 1000 * (kind == Kind::lognormal ? std::exp(sigma * sigma / 2) : 1);
}

std::expected<void, std::string> assign(MirrorProfile& profile, std::string_view key,
                                        std::string_view value) {
  for (const auto& known : kKeys)
    if (known.name == key) return known.set(profile, value);
  return std::unexpected(fmt::format("unknown key {}", key));
}

std::optional<double> parse_number(std::string_view text, double least, double most) {
  const auto number = number_in<double>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;  // not nan, either
}

std::expected<Scenario, Problems> parse_scenario(std::string_view text, const std::string& file,
                                                 std::string name) {
  Scenario scenario;
  scenario.name = std::move(name);
  ScenarioReader reader(file, scenario);
  reader.read(text);
  if (!reader.problems.empty()) return std::unexpected(std::move(reader.problems));
  return scenario;
}

std::expected<Scenario, Problems> with_overrides(Scenario scenario,
                                                 const ScenarioOverrides& overrides) {
  if (overrides.rate) {
    for (auto& change : scenario.rate_changes) change.rate *= *overrides.rate / scenario.rate;
    scenario.rate = *overrides.rate;
  }
  scenario.duration = overrides.duration.value_or(scenario.duration);
  scenario.mirrors = overrides.mirrors.value_or(scenario.mirrors);
  scenario.masters = overrides.masters.value_or(scenario.masters);
  for (const auto& setting : overrides.settings)
    scenario.settings.push_back({setting, {"--set", 1, 1}});
  Problems problems;
  for (const auto& statement : scenario.mirror_statements)
    check_range(scenario, statement, problems);
  for (const auto& change : scenario.changes) check_range(scenario, change, problems);
  if (const auto requests = most_requests(scenario); requests > kMostRequests)
    problems.push_back({{},
                        fmt::format("{:.0f} requests are too many: rate × (duration + warmup) "
                                    "may be at most {:.0f}",
                                    requests, kMostRequests)});
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return scenario;
}

std::string mirror_name(const Scenario& scenario, std::size_t mirror) {
  return scenario.mirror_names.empty() ? fmt::format("m{}", mirror + 1)
                                       : scenario.mirror_names[mirror];
}

std::vector<ReportedChange> reported_changes(const Scenario& scenario) {
  std::vector<ReportedChange> changes;
  for (const auto& change : scenario.changes) changes.push_back({change.time, change.text});
  for (const auto& change : scenario.rate_changes)
    changes.push_back({change.time, fmt::format("rate {}", change.rate)});
  std::ranges::stable_sort(changes, {}, &ReportedChange::at);
  return changes;
}

const std::vector<Scenario>& scenario_library() {
  static const auto library = read_library();
  return library;
}

const Scenario* library_scenario(std::string_view name) {
  const auto& all = scenario_library();
  const auto found = std::ranges::find(all, name, &Scenario::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace karmad::simulate
