#include "balancer/status/status_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "agent/stats/document.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "balancer/selection/selection.hpp"
#include "balancer/trace/trace_json.hpp"
#include "balancer/watch/event_log.hpp"
#include "config/text/source_text.hpp"
#include "strategies/narrow.hpp"
#include "strategies/read_preference.hpp"
#include "strategies/tags.hpp"

namespace karmad {
namespace {

double in_ms(Micros time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void add_time(Document& out, std::string_view key, std::optional<Micros> time) {
  if (time) out.value(key, *time, Unit::milliseconds);
}

Micros in_micros(float time) {
  return Micros{static_cast<Micros::rep>(time)};
}

/// The objections to a mirror, the first one first.
std::vector<std::string_view> objections_to(const PickSteps& steps, std::size_t mirror) {
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < kAvoidReasons; ++i)
    if (steps.with(static_cast<AvoidReason>(i)).contains(mirror))
      found.push_back(kAvoidReasonTexts[i]);
  return found;
}

MirrorViews numbers_of(const ExplainRecord& record, const ExplainedChoice& choice) {
  return {record.numbers.data() + choice.first_number, choice.shard->mirrors->size()};
}

/// Why the strategy does not accept a mirror that it could have chosen.
std::string refused_by_strategy(const ExplainedChoice& choice, const MirrorView& mirror) {
  if (mirror.weight <= 0) return "its weight is 0";
  const auto& name = choice.shard->mirrors->strategy_name();
  if (name == "noerrors")
    return fmt::format("strategy {}: {:.1f} % critical and {:.1f} % other errors", name,
                       mirror.rates.critical * 100, mirror.rates.errors * 100);
  return fmt::format("strategy {}: {} in a row", name,
                     counted_noun(mirror.errors_in_a_row, "error"));
}

std::string out_of_window(const ExplainedChoice& choice, std::size_t mirror) {
  const auto& picture = choice.view->picture;
  const auto& rtt = picture.mirrors[mirror].rtt;
  const auto fastest = fastest_rtt(picture, choice.steps.selected);
  if (!rtt || !fastest) return "its round trip is not measured";
  return fmt::format(
      "round trip of {} ms, more than local_threshold ({} ms) above the lowest, {} ms", in_ms(*rtt),
      in_ms(*choice.steps.window), in_ms(*fastest));
}

/// What the choice knew of the mirror, in a word.
std::string_view state_at(const ExplainedChoice& choice, const MirrorView& numbers,
                          std::size_t mirror) {
  const auto& steps = choice.steps;
  if (steps.with(AvoidReason::drained).contains(mirror)) return "drain";
  if (steps.with(AvoidReason::maint).contains(mirror)) return "maint";
  if (steps.with(AvoidReason::breaker_open).contains(mirror)) return "breaker_open";
  if (steps.with(AvoidReason::ejected).contains(mirror)) return "ejected";
  if (choice.view->unreachable.contains(mirror)) return "unreachable";
  if (steps.with(AvoidReason::full).contains(mirror)) return "full";
  return numbers.errors_in_a_row > 0 ? "failing" : "ready";
}

/// The probability of each mirror in this choice.
Shares probabilities(const ExplainRecord& record, const ExplainedChoice& choice) {
  Shares shares{};
  const auto from = choice.steps.near;
  if (choice.told && choice.steps.chosen) shares[*choice.steps.chosen] = 1;
  if (choice.told || from.empty()) return shares;
  return choice.shard->mirrors->strategy().shares(numbers_of(record, choice), from);
}

void write_mirror(Document& out, const ExplainRecord& record, const ExplainedChoice& choice,
                  std::size_t mirror, double probability) {
  const auto& picture = choice.view->picture;
  const auto& facts = picture.mirrors[mirror];
  const auto& numbers = numbers_of(record, choice)[mirror];
  out.value("mirror", mirror + 1);
  out.text("address", (*choice.shard->mirrors)[mirror].agent->name);
  out.text("role", name(facts.role));
  out.text("state", state_at(choice, numbers, mirror));
  out.text("tags", text(facts.tags));
  add_time(out, "staleness_ms", staleness(picture, mirror));
  add_time(out, "rtt_ms", facts.rtt);
  out.value("in_flight", numbers.in_flight);
  out.value("errors_in_a_row", numbers.errors_in_a_row);
  out.value("weight", numbers.karma);
  out.value("weight_factor", numbers.weight);
  add_time(out, "latency_ms", in_micros(numbers.latency));
  add_time(out, "penalty_ms", in_micros(numbers.penalty));
  add_time(out, "oldest_in_flight_ms", in_micros(numbers.oldest));
  out.value("load", numbers.load, Unit::share);
  out.value("probability", probability, Unit::share);
  out.array("objections", objections_to(choice.steps, mirror),
            [&](std::string_view objection) { out.text(objection); });
  out.text("removed_by", removed_by(record, choice, mirror));
}

void write_attempt(Document& out, const ExplainedChoice::Attempt& attempt) {
  out.object("attempt", [&] {
    out.text("reason", name(attempt.reason));
    add_time(out, "pause_ms", attempt.pause);
    add_time(out, "started_ms", attempt.started);
    add_time(out, "connecting_ms", attempt.connecting);
    add_time(out, "first_byte_ms", attempt.first_byte);
    add_time(out, "took_ms", attempt.took);
    out.text("outcome", attempt.took ? name(attempt.outcome) : "running");
    if (attempt.status != 0) out.value("status", attempt.status);
    out.text("error", attempt.error.text());
  });
}

void write_draws(Document& out, const Draws& draws) {
  const auto kept = std::min(draws.count(), Draws::kKept);
  out.objects("draws", std::views::iota(std::size_t{0}, kept), [&](std::size_t i) {
    out.value("below", draws[i].below == 0 ? 1 : draws[i].below);
    out.value("drawn", draws[i].value);
  });
}

/// What named the mirror of a choice without a selection.
std::string_view named_by(const ExplainedChoice& choice) {
  const bool quorum = choice.attempt && choice.attempt->reason == AttemptReason::quorum;
  return quorum ? "the quorum read" : "the error answer";
}

void write_choice(Document& out, const ExplainRecord& record, const ExplainedChoice& choice) {
  const auto& set = *choice.shard->mirrors;
  out.text("set", name(choice.view->picture.kind));
  out.text("chosen_by", choice.told ? named_by(choice) : std::string_view(set.strategy_name()));
  const auto shares = probabilities(record, choice);
  out.objects("mirrors", std::views::iota(std::size_t{0}, set.size()), [&](std::size_t mirror) {
    write_mirror(out, record, choice, mirror, shares[mirror]);
  });
  write_draws(out, choice.steps.draws);
  if (choice.steps.chosen) {
    out.value("chosen", *choice.steps.chosen + 1U);
    out.text("address", set[*choice.steps.chosen].agent->name);
  }
  out.text("refused", choice.refused.text());
  if (choice.attempt) write_attempt(out, *choice.attempt);
}

/// The numbers of the shards with a choice, in the order of their first one.
std::vector<unsigned> shards_of(const ExplainRecord& record) {
  std::vector<unsigned> numbers;
  for (const auto& choice : record.choices)
    if (std::ranges::find(numbers, choice.shard_number) == numbers.end())
      numbers.push_back(choice.shard_number);
  std::ranges::sort(numbers);
  return numbers;
}

void write_shard(Document& out, const ExplainRecord& record, unsigned number) {
  out.value("shard", number);
  std::vector<const ExplainedChoice*> choices;
  for (const auto& choice : record.choices)
    if (choice.shard_number == number) choices.push_back(&choice);
  out.text("strategy", choices.front()->shard->mirrors->strategy_name());
  out.objects("choices", choices,
              [&](const ExplainedChoice* choice) { write_choice(out, record, *choice); });
}

bool any_requirement(const ExplainRecord& record) {
  return !std::ranges::all_of(record.choices,
                              [](const auto& choice) { return choice.steps.any_mirror; });
}

std::string_view id_of(const ExplainRecord& record, std::string& number) {
  if (const auto id = record.request_id.text(); !id.empty()) return id;
  return number = fmt::format("{}", record.query);
}

}  // namespace

std::string removed_by(const ExplainRecord& record, const ExplainedChoice& choice,
                       std::size_t mirror) {
  const auto& steps = choice.steps;
  if (choice.told)
    return steps.chosen == mirror ? "" : fmt::format("{} named another mirror", named_by(choice));
  if (steps.near.contains(mirror)) return {};
  const auto objections = objections_to(steps, mirror);
  const auto objection = [&] {
    return objections.empty() ? std::string("left out by this request")
                              : fmt::format("{}", fmt::join(objections, "; "));
  };
  if (steps.excluded.contains(mirror)) return objection();
  if (!steps.any_mirror)
    if (auto why = why_unsuitable(record.need, choice.view->picture, mirror); !why.empty())
      return why;
  if (!steps.fresh.contains(mirror))
    return steps.avoided.contains(mirror) ? objection() : "not suitable";
  if (!steps.accepted.contains(mirror))
    return refused_by_strategy(choice, numbers_of(record, choice)[mirror]);
  return steps.selected.contains(mirror) ? out_of_window(choice, mirror)
                                         : "the selector of the application";
}

void append_explanation(std::string& out, const ExplainRecord& record, TimePoint now,
                        std::chrono::system_clock::time_point wall) {
  Document document(out);
  std::string number;
  document.object([&] {
    if (record.query != ExplainRecord::kNone) {
      document.text("id", id_of(record, number));
      document.value("query", record.query);
      document.text(
          "time",
          utc_text(std::chrono::time_point_cast<WallTime::duration>(wall - (now - record.began))));
    }
    document.text("table", record.table->name);
    document.raw("criteria", any_requirement(record) ? criteria_of(record.need) : "\"any mirror\"");
    if (record.took) {
      document.value("status", record.status);
      add_time(document, "took_ms", record.took);
      add_time(document, "queued_ms", record.queued);
      add_time(document, "merge_ms", record.merge);
      document.value("partial", record.partial);
    }
    if (!record.plan.empty()) document.text("plan", record.plan);
    document.value("left_out", record.left_out);
    document.objects("shards", shards_of(record),
                     [&](unsigned shard) { write_shard(document, record, shard); });
  });
}

std::string explanation_field(const ExplainRecord& record, TimePoint now,
                              std::chrono::system_clock::time_point wall) {
  std::string text;
  append_explanation(text, record, now, wall);
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (text.size() <= kTraceFieldSize && std::ranges::all_of(text, printable)) return text;
  std::string number;
  const auto id = id_of(record, number);
  std::string path(kExplainPath);
  append_url_encoded(path += '/', id);
  return fmt::format(R"({{"id":"{}","see":"{}"}})", id, path);
}

}  // namespace karmad
