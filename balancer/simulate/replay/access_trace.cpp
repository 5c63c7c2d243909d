#include "balancer/simulate/replay/access_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad::simulate {

namespace {

/// Lines are written when their requests end, by several workers, within 20 ms. An end that is
/// earlier than another by more than this shows another clock, or another file.
constexpr Micros kLateLine = std::chrono::seconds(1);

/// The position of the name in `names`, to which it is added; empty: `most` others are there.
std::optional<std::size_t> place_of_name(std::vector<std::string>& names, std::string_view name,
                                         std::size_t most) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (names.size() == most) return std::nullopt;
  names.emplace_back(name);
  return names.size() - 1;
}

std::vector<std::string> unescaped_names(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const auto& name : names) texts.push_back(json_unescaped(name));
  return texts;
}

/// Whether a request with that operation changes data.
bool is_update(std::string_view operation) {
  constexpr std::array<std::string_view, 8> kUpdates{"insert", "replace", "update", "delete",
                                                     "bulk",   "PUT",     "DELETE", "PATCH"};
  constexpr std::string_view kFolder = "json/";
  if (operation.starts_with(kFolder)) operation.remove_prefix(kFolder.size());
  return std::ranges::find(kUpdates, operation) != kUpdates.end();
}

/// Collects the lines of an access log, in any order, and makes their trace.
class AccessLineCollector {
 public:
  /// False: kMostRecordedAttempts is reached; further lines are not accepted.
  bool add(std::string_view text) {
    if (!parse_access_line(text, line_)) {
      ++counts_.other_lines;
      return true;
    }
    watch_clock();
    if (is_update(line_.operation)) {
      ++counts_.updates;
      return true;
    }
    counts_.unusable_attempts += line_.unusable;
    add_request();
    counts_.cut = attempts_.size() >= kMostRecordedAttempts;
    return !counts_.cut;
  }
  /// The trace of all lines. `counts.lines` and `counts.long_lines` are left to the caller.
  AccessTrace finish() {
    sort_requests();
    AccessTrace trace;
    for (const auto& request : requests_) {
      trace.arrivals.push_back({.at = request.time - requests_.front().time,
                                .table = request.table,
                                .shards = request.shards,
                                .weight = request.weight});
      add_recorded_requests(request, trace.requests);
      if (request.weight > 1) ++counts_.sampled;
      counts_.attempts += request.attempts;
    }
    trace.tables = unescaped_names(tables_);
    trace.sets = recorded_sets();
    trace.counts = counts_;
    return trace;
  }

 private:
  struct Request {
    Micros time{};  ///< since 1970
    std::uint64_t id = 0;
    std::uint64_t first_attempt = 0;
    double weight = 1;
    std::uint32_t attempts = 0;
    std::uint32_t table = 0;
    std::uint32_t shards = 0;
  };
  struct Attempt {
    std::uint32_t start_us = 0;  ///< since the arrival of its request
    std::uint32_t took_us = 0;
    std::uint16_t set = 0;
    std::uint16_t mirror = 0;
    std::uint16_t status = 0;
    Outcome outcome = Outcome::cancelled;
  };
  struct Set {
    std::uint32_t table = 0;
    std::uint32_t shard = 0;
    std::vector<std::string> mirrors;  ///< raw, as in the lines
  };

  // Positions; empty: there are too many.
  std::optional<std::uint32_t> table_of(std::string_view name) {
    return place_of_name(tables_, name, kMostRecordedTables);
  }
  std::optional<std::uint16_t> set_of(std::uint32_t table, std::uint32_t shard) {
    const auto key = std::uint64_t{table} << 32 | shard;
    if (const auto found = set_places_.find(key); found != set_places_.end()) return found->second;
    if (sets_.size() == kMostRecordedSets) return std::nullopt;
    const auto place = static_cast<std::uint16_t>(sets_.size());
    sets_.push_back({.table = table, .shard = shard, .mirrors = {}});
    set_places_.emplace(key, place);
    return place;
  }

  void watch_clock() {
    const auto end = line_.time + line_.total;
    if (end + kLateLine < latest_end_) {
      ++counts_.backward_steps;
      latest_end_ = end;
    }
    latest_end_ = std::max(latest_end_, end);
  }
  void add_request() {
    const auto first = attempts_.size();
    const auto table =
        line_.table.empty() || line_.attempts.empty() ? std::nullopt : table_of(line_.table);
    if (table)
      for (const auto& attempt : line_.attempts)
        if (!add_attempt(*table, attempt)) ++counts_.attempts_over_limit;
    if (attempts_.size() == first) {
      ++counts_.without_attempts;
      return;
    }
    requests_.push_back({.time = line_.time,
                         .id = line_.id,
                         .first_attempt = first,
                         .weight = 1 / line_.sample,
                         .attempts = static_cast<std::uint32_t>(attempts_.size() - first),
                         .table = *table,
                         .shards = count_shards(first)});
  }
  bool add_attempt(std::uint32_t table, const AccessLineAttempt& attempt) {
    const auto set = set_of(table, attempt.shard);
    if (!set) return false;
    const auto mirror = place_of_name(sets_[*set].mirrors, attempt.mirror, kMostRecordedMirrors);
    if (!mirror) return false;
    attempts_.push_back({.start_us = static_cast<std::uint32_t>(attempt.start.count()),
                         .took_us = static_cast<std::uint32_t>(attempt.took.count()),
                         .set = *set,
                         .mirror = static_cast<std::uint16_t>(*mirror),
                         .status = static_cast<std::uint16_t>(attempt.status),
                         .outcome = attempt.outcome});
    return true;
  }
  /// Different shards among the attempts from `first_attempt` on.
  std::uint32_t count_shards(std::uint64_t first_attempt) const {
    std::uint32_t count = 0;
    const auto begin = attempts_.begin() + static_cast<std::ptrdiff_t>(first_attempt);
    for (auto attempt = begin; attempt != attempts_.end(); ++attempt)
      if (std::ranges::find(begin, attempt, attempt->set, &Attempt::set) == attempt) ++count;
    return count;
  }
  /// One for each of its shards.
  void add_recorded_requests(const Request& request, std::vector<RecordedRequest>& to) const {
    const auto attempts = std::span(attempts_).subspan(request.first_attempt, request.attempts);
    const auto arrived = request.time - requests_.front().time;
    for (auto first = attempts.begin(); first != attempts.end(); ++first) {
      if (std::ranges::find(attempts.begin(), first, first->set, &Attempt::set) != first) continue;
      auto start = first->start_us;
      std::uint64_t end = 0;
      bool answered = false;
      for (auto attempt = first; attempt != attempts.end(); ++attempt) {
        if (attempt->set != first->set) continue;
        start = std::min(start, attempt->start_us);
        const bool answers = is_answered(attempt->outcome);
        if (answered && !answers) continue;
        const auto ended = std::uint64_t{attempt->start_us} + attempt->took_us;
        end = answers && !answered ? ended : std::max(end, ended);
        answered = answers;
      }
      to.push_back({.start = arrived + Micros(start),
                    .took_us = static_cast<std::uint32_t>(end - start),
                    .weight = static_cast<float>(request.weight),
                    .answered = answered});
    }
  }
  /// Sorts by time and removes repeated lines: a process numbers its requests, so two of the same
  /// microsecond and number are one.
  void sort_requests() {
    const auto key = [](const Request& request) { return std::tuple(request.time, request.id); };
    std::ranges::stable_sort(requests_, {}, key);
    const auto repeated = std::ranges::unique(requests_, {}, key);
    counts_.duplicates = repeated.size();
    requests_.erase(repeated.begin(), repeated.end());
  }
  RecordedSet recorded(std::uint16_t set, const std::vector<std::uint32_t>& requests_of_attempts,
                       const std::vector<std::uint32_t>& attempts) const {
    struct Weighted {
      std::vector<RecordedAttempt> attempts;
      std::vector<double> weights;
    };
    const auto& from = sets_[set];
    std::vector<Weighted> mirrors(from.mirrors.size());
    for (const auto place : attempts) {
      const auto& attempt = attempts_[place];
      const auto& request = requests_[requests_of_attempts[place]];
      auto& to = mirrors[attempt.mirror];
      to.attempts.push_back(
          {.start = request.time - requests_.front().time + Micros(attempt.start_us),
           .took_us = attempt.took_us,
           .status = attempt.status,
           .outcome = attempt.outcome});
      to.weights.push_back(request.weight);
    }
    RecordedSet result{.table = from.table, .shard = from.shard};
    result.addresses = unescaped_names(from.mirrors);
    for (auto& mirror : mirrors)
      result.mirrors.emplace_back(std::move(mirror.attempts), std::move(mirror.weights));
    return result;
  }
  /// Memory for one set at a time, besides the result.
  std::vector<RecordedSet> recorded_sets() const {
    std::vector<std::uint32_t> requests_of_attempts(attempts_.size());
    std::vector<std::vector<std::uint32_t>> attempts_of_sets(sets_.size());
    for (std::uint32_t place = 0; place < requests_.size(); ++place) {
      const auto& request = requests_[place];
      for (auto i = request.first_attempt; i < request.first_attempt + request.attempts; ++i) {
        requests_of_attempts[i] = place;
        attempts_of_sets[attempts_[i].set].push_back(static_cast<std::uint32_t>(i));
      }
    }
    std::vector<RecordedSet> sets;
    for (std::size_t set = 0; set < sets_.size(); ++set)
      if (!attempts_of_sets[set].empty())  // a set may be left with repeated lines only
        sets.push_back(recorded(static_cast<std::uint16_t>(set), requests_of_attempts,
                                std::exchange(attempts_of_sets[set], {})));
    std::ranges::sort(sets, {}, [](const auto& of) { return std::tuple(of.table, of.shard); });
    return sets;
  }

  AccessLine line_;
  AccessTraceCounts counts_;
  Micros latest_end_{};
  std::vector<Request> requests_;
  std::vector<Attempt> attempts_;
  std::vector<std::string> tables_;  ///< raw
  std::unordered_map<std::uint64_t, std::uint16_t> set_places_;
  std::vector<Set> sets_;
};

std::string nothing_usable(const AccessTraceCounts& counts) {
  if (counts.lines == 0) return "the access log is empty";
  return fmt::format(
      "the access log has nothing to replay in {}: not JSON of an access log: {}; too long: {}; "
      "requests that change data: {}; without a table or a complete attempt: {}; "
      "access_log_format must be json",
      counted_noun(counts.lines, "line"), counts.other_lines, counts.long_lines, counts.updates,
      counts.without_attempts);
}

template <class Number>
bool read_line_number(std::string_view text, Number& number) {
  const auto said = number_in<Number>(text);
  if (said) number = *said;
  return said.has_value();
}

bool read_line_text(std::string_view value, std::string_view& text) {
  if (!is_string(value)) return false;
  text = without_quotes(value);
  return true;
}

bool read_line_micros(std::string_view value, Micros& time) {
  std::uint64_t number = 0;
  if (!read_line_number(value, number) || number > std::uint64_t{kLongestLoggedTime.count()})
    return false;
  time = Micros(number);
  return true;
}

/// Reads milliseconds such as `1.234`.
bool read_line_millis(std::string_view value, Micros& time) {
  double number = 0;
  if (!read_line_number(value, number) || !(number >= 0)) return false;
  time = Micros(static_cast<std::int64_t>(std::min(number * 1000, 1e15)));
  return true;
}

/// Reads `"2023-11-14T22:13:20.000042Z"`.
bool read_line_date(std::string_view value, Micros& time) {
  constexpr std::string_view kPattern = "\"0000-00-00T00:00:00.000000Z\"";
  if (value.size() != kPattern.size()) return false;
  for (std::size_t i = 0; i < kPattern.size(); ++i)
    if (kPattern[i] != '0' && value[i] != kPattern[i]) return false;
  std::array<unsigned, 7> parts{};
  constexpr std::array<std::size_t, 7> kPlaces{1, 6, 9, 12, 15, 18, 21};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t digits = i == 0 ? 4 : i == 6 ? 6 : 2;
    if (!read_line_number(value.substr(kPlaces[i], digits), parts[i])) return false;
  }
  const auto [year, month, day, hour, minute, second, micros] = parts;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return false;
  time = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second) + Micros(micros);
  return true;
}

bool read_line_outcome(std::string_view value, Outcome& outcome) {
  const auto* const row = std::ranges::find_if(kOutcomes, [&](const OutcomeRow& known) {
    return is_string(value) && without_quotes(value) == known.name;
  });
  if (row == kOutcomes.end()) return false;
  outcome = row->outcome;
  return true;
}

/// What a line says of an attempt; `end` is missing if it was dropped.
struct LoggedAttempt {
  AccessLineAttempt attempt;
  std::optional<Micros> end;
  bool has_start = false;
  bool has_outcome = false;
};

bool read_attempt_member(JsonCursor& json, std::string_view key, LoggedAttempt& logged) {
  const auto value = take_value(json);
  if (!value) return false;
  auto& attempt = logged.attempt;
  if (key == "shard") return read_line_number(*value, attempt.shard);
  if (key == "mirror") return read_line_text(*value, attempt.mirror);
  if (key == "start_us") return logged.has_start = read_line_micros(*value, attempt.start);
  if (key == "end_us") return read_line_micros(*value, logged.end.emplace());
  if (key == "outcome") return logged.has_outcome = read_line_outcome(*value, attempt.outcome);
  if (key == "status") return read_line_number(*value, attempt.status) && attempt.status < 1000;
  return true;
}

bool read_attempt(JsonCursor& json, AccessLine& line) {
  LoggedAttempt logged;
  JsonMembers members(json);
  while (const auto key =
             members.next(R"("shard":)", R"("mirror":)", R"("reason":)", R"("strategy":)",
                          R"("start_us":)", R"("end_us":)", R"("outcome":)"))
    if (!read_attempt_member(json, *key, logged)) return false;
  auto& attempt = logged.attempt;
  if (!members.complete() || attempt.shard == 0 || attempt.mirror.empty() || !logged.has_start ||
      !logged.has_outcome)
    return false;
  if (!logged.end || *logged.end < attempt.start || attempt.outcome == Outcome::local_error) {
    ++line.unusable;
    return true;
  }
  attempt.took = *logged.end - attempt.start;
  line.attempts.push_back(attempt);
  return true;
}

bool read_attempts(JsonCursor& json, AccessLine& line) {
  JsonElements elements(json);
  while (elements.next())
    if (!read_attempt(json, line)) return false;
  return elements.complete();
}

bool read_line_member(JsonCursor& json, std::string_view key, AccessLine& line) {
  if (key == "attempts") return read_attempts(json, line);
  const auto value = take_value(json);
  if (!value) return false;
  if (key == "time") return read_line_date(*value, line.time);
  if (key == "id") return read_line_number(*value, line.id);
  if (key == "operation") return read_line_text(*value, line.operation);
  if (key == "table") return read_line_text(*value, line.table);
  if (key == "total_ms") return read_line_millis(*value, line.total);
  if (key == "sample")
    return read_line_number(*value, line.sample) && line.sample >= kSmallestSample &&
           line.sample <= 1;
  return true;
}

/// Arrivals before and after a sampled one that give the rate around it: 16 intervals make an
/// estimate within a quarter.
constexpr std::size_t kRateNeighbours = 8;

struct Span {
  Micros from{};
  Micros to{};
};

/// The time around `arrivals[place]` that has kRateNeighbours on each side, as far as there are.
Span span_around(const std::vector<Micros>& arrivals, std::size_t place) {
  return {arrivals[place - std::min(place, kRateNeighbours)],
          arrivals[std::min(arrivals.size() - 1, place + kRateNeighbours)]};
}

/// `weight` - 1, rounded at random so that the mean is exact.
std::size_t further_arrivals(double weight, RandomSource& random) {
  const auto whole = static_cast<std::size_t>(weight);
  const bool one_more = random.uniform() < weight - static_cast<double>(whole);
  return whole - 1 + (one_more ? 1 : 0);
}

}  // namespace

std::expected<AccessTrace, std::string> read_access_trace(std::istream& in) {
  AccessLineCollector collector;
  std::string line(kLongestAccessLine + 1, 0);  // with the zero byte behind it
  std::uint64_t lines = 0;
  std::uint64_t long_lines = 0;
  for (bool more = true; more;) {
    in.getline(line.data(), static_cast<std::streamsize>(line.size()));
    auto size = static_cast<std::size_t>(in.gcount());
    if (size == 0) break;
    ++lines;
    if (in.fail() && !in.bad()) {
      ++long_lines;
      in.clear(in.rdstate() & ~std::ios::failbit);
      in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
      continue;
    }
    if (!in.eof()) --size;  // the end of the line
    more = size == 0 || collector.add({line.data(), size});
  }
  auto trace = collector.finish();
  trace.counts.lines = lines;
  trace.counts.long_lines = long_lines;
  if (in.bad()) return std::unexpected("the access log cannot be read to its end");
  if (trace.arrivals.empty()) return std::unexpected(nothing_usable(trace.counts));
  return trace;
}

bool parse_access_line(std::string_view text, AccessLine& line) {
  auto attempts = std::move(line.attempts);  // keeps its memory
  attempts.clear();
  line = {};
  line.attempts = std::move(attempts);
  JsonCursor json(text);
  JsonMembers members(json);
  bool has_time = false;
  bool has_attempts = false;
  while (const auto key = members.next()) {
    if (!read_line_member(json, *key, line)) return false;
    has_time |= *key == "time";
    has_attempts |= *key == "attempts";
  }
  skip_space(json);
  return members.complete() && json.done() && has_time && has_attempts;
}

std::vector<std::string> notes_on(const AccessTraceCounts& counts) {
  std::vector<std::string> notes;
  const auto note = [&](std::uint64_t count, std::string_view noun, std::string_view text) {
    if (count > 0) notes.push_back(fmt::format("{} {}", counted_noun(count, noun), text));
  };
  note(counts.other_lines, "line", "skipped: no JSON of an access log");
  note(counts.long_lines, "line", "skipped: longer than 64 KiB");
  note(counts.without_attempts, "request", "skipped: no table or no complete attempt");
  note(counts.updates, "request", "not replayed: changes of data");
  note(counts.duplicates, "line", "skipped: of requests that were read before");
  note(counts.unusable_attempts, "attempt",
       "without an end, or with none that tells something of a mirror");
  note(counts.attempts_over_limit, "attempt", "left out: of too many tables, shards or mirrors");
  note(counts.sampled, "request",
       "of a sample (access_log_sample); those that were left out are estimated");
  note(counts.backward_steps, "time",
       "the clock of the log goes back by more than a second; the lines were sorted by time");
  if (counts.cut)
    notes.push_back(
        fmt::format("only the first {} attempts of the log were read", kMostRecordedAttempts));
  return notes;
}

std::expected<std::vector<RecordedArrival>, std::string> restore_arrivals(const AccessTrace& trace,
                                                                          RandomSource& random) {
  double sum = 0;
  std::vector<std::vector<Micros>> times(trace.tables.size());
  for (const auto& arrival : trace.arrivals) {
    sum += arrival.weight;
    times[arrival.table].push_back(arrival.at);
  }
  if (sum > static_cast<double>(kMostRestoredArrivals))
    return std::unexpected(
        fmt::format("the log is a sample of {:.0f} requests; at most {} can be "
                    "replayed",
                    sum, kMostRestoredArrivals));
  std::vector<RecordedArrival> all;
  std::vector<std::size_t> places(trace.tables.size());
  for (auto arrival : trace.arrivals) {
    const auto [from, to] = span_around(times[arrival.table], places[arrival.table]++);
    const auto further = further_arrivals(std::exchange(arrival.weight, 1), random);
    all.push_back(arrival);
    for (std::size_t i = 0; i < further; ++i) {
      const auto offset = random.uniform() * static_cast<double>((to - from).count());
      arrival.at = from + Micros(static_cast<std::int64_t>(offset));
      all.push_back(arrival);
    }
  }
  std::ranges::stable_sort(all, {}, &RecordedArrival::at);
  return all;
}

}  // namespace karmad::simulate
