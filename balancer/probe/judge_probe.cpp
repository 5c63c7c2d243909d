#include "balancer/probe/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "agent/ping_kinds/json.hpp"
#include "agent/transport/http/field_values.hpp"
#include "balancer/topology/rule_reader.hpp"
#include "config/text/closest.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using About = ProbeRequest::About;

constexpr std::size_t kMostTables = 16;  // of one mirror; each costs a request

PingRequest statement(std::string text) {
  return {.method = "POST",
          .target = "/sql?mode=raw",
          .content_type = "text/plain",
          .body = std::move(text)};
}

void add_line(std::vector<ProbeTarget>& targets, const TableSettings& table,
              const ShardSettings& line, const DialectKind& dialect, const std::string& part) {
  const auto first = targets.size();
  for (const auto& mirror : line.mirrors) {
    ProbeTarget target{.table = table.name,
                       .part = part,
                       .address = mirror.address,
                       .tables = mirror.tables,
                       .is_routed = dialect.is_routed(),
                       .path = table.path ? table.path->value : table.route.value,
                       .ping = ping_kind(line.ping_type.value),
                       .ping_path = line.ping_path ? line.ping_path->value : std::string(),
                       .authorization = table.authorization,
                       .tls = agent_tls_rules(mirror, table)};
    if (std::find(targets.begin() + static_cast<std::ptrdiff_t>(first), targets.end(), target) ==
        targets.end())
      targets.push_back(std::move(target));
  }
}

using rapidjson::Value;

constexpr std::size_t kLongestError = 200;
constexpr std::size_t kMostNamed = 10;  // tables or columns in one message
constexpr std::size_t kMostRows = 10'000;

/// The rows of a statement's first result set, two members of each as text.
std::vector<std::pair<std::string, std::string>> rows_of(const Value& answer,
                                                         std::string_view first,
                                                         std::string_view second) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (!answer.IsArray() || answer.Empty()) return rows;
  for (const auto& row : list_member(answer[0], "data")) {
    if (rows.size() == kMostRows) break;
    if (const auto name = text_member(row, first); !name.empty())
      rows.emplace_back(name, text_member(row, second));
  }
  return rows;
}

class ProbeJudge {
 public:
  ProbeJudge(const ProbeTarget& target, std::span<const ProbeExchange> exchanges)
      : target_(target), exchanges_(exchanges) {}

  AgentReport run() {
    for (const auto& exchange : exchanges_) judge(exchange);
    judge_ping();
    judge_tables();
    return std::move(report_);
  }

 private:
  void problem(std::string text) {
    if (std::ranges::find(report_.problems, text) == report_.problems.end())
      report_.problems.push_back(std::move(text));
  }

  void judge(const ProbeExchange& exchange) {
    const auto& [request, answer] = exchange;
    if (!answer.failure.empty())
      return problem(fmt::format("it cannot be asked: {}", cleaned(answer.failure, kLongestError)));
    if (!report_.trip) report_.trip = answer.trip;
    judge_clock(answer);
    if (answer.status == 401 || answer.status == 403) {
      refused_ = true;
      return problem(fmt::format("it refuses {} (status {})",
                                 target_.authorization.empty() ? "karmad without credentials"
                                                               : "the credentials of the table",
                                 answer.status));
    }
    const auto json = parse_answer(answer.body);
    switch (request.about) {
      case About::banner:
        return judge_banner(answer, json ? &*json : nullptr);
      case About::ping:
        return pings_.push_back({answer.status, answer.body});
      case About::version:
        if (json)
          for (const auto& [name, version] : rows_of(*json, "Counter", "Value"))
            if (name == "version") name_engine(version);
        return;
      case About::tables:
        return read_tables(answer, json ? &*json : nullptr);
      case About::schema:
        if (json && is_success(answer.status))
          for (auto& [name, type] : rows_of(*json, "Field", "Type"))
            report_.columns.emplace(cleaned(lower(name)), cleaned(type));
        return;
      case About::path:
        return judge_path(answer);
      case About::readiness:
        return judge_readiness(request.table, answer);
    }
  }

  void judge_clock(const ProbeAnswer& answer) {
    const auto date = http_date(answer.date);
    if (!date || report_.clock) return;
    // The agent's time is within the second that begins at `date`.
    const auto theirs = std::chrono::sys_time<Micros>(*date) + Micros(500'000);
    const auto ours = std::chrono::floor<Micros>(answer.at) - answer.trip / 2;
    const auto off = theirs - ours;
    report_.clock = std::chrono::round<std::chrono::seconds>(off);
    if (std::chrono::abs(*report_.clock) > kClockTolerance)
      problem(fmt::format("its clock is {} s {} karmad's", std::chrono::abs(*report_.clock).count(),
                          report_.clock->count() < 0 ? "behind" : "ahead of"));
  }

  void judge_banner(const ProbeAnswer& answer, const Value* json) {
    engine_ = engine_in(answer.body);
    const auto name = json == nullptr ? std::string_view() : text_member(*json, "name");
    const auto* version = json == nullptr ? nullptr : member(*json, "version");
    const auto number = version == nullptr ? std::string_view() : text_member(*version, "number");
    if (name.starts_with("karmad"))
      report_.engine = cleaned(fmt::format("{} {}", name, number));
    else if (engine_ == Engine::elasticsearch && target_.is_routed)
      report_.engine = cleaned(fmt::format("Elasticsearch {}", number));
    else if (engine_ == Engine::opensearch)
      report_.engine = cleaned(fmt::format("OpenSearch {}", number));
    else if (!answer.server.empty())
      report_.engine = cleaned(answer.server);
    if (target_.is_routed && answer.status >= 500)
      problem(fmt::format("GET / is answered with status {}", answer.status));
  }

  /// Manticore's banner is that of Elasticsearch.
  void name_engine(std::string_view version) {
    if (!report_.engine.starts_with("karmad"))
      report_.engine = cleaned(fmt::format("Manticore {}", version));
  }

  void read_tables(const ProbeAnswer& answer, const Value* json) {
    if (json == nullptr || !json->IsArray() || !is_success(answer.status)) {
      const auto error = json == nullptr ? std::string_view() : text_member(*json, "error");
      return problem(error.empty() ? fmt::format("SHOW TABLES has no rows (status {}): it does not "
                                                 "seem to be a Manticore",
                                                 answer.status)
                                   : fmt::format("SHOW TABLES: {}", cleaned(error)));
    }
    tables_ = rows_of(*json, "Table", "Type");
    if (tables_->empty()) tables_ = rows_of(*json, "Index", "Type");
  }

  void judge_path(const ProbeAnswer& answer) {
    const bool is_known = engine_ == Engine::elasticsearch || engine_ == Engine::opensearch;
    const auto text =
        fmt::format("HEAD {} is answered with status {}", target_.path, answer.status);
    if (answer.status >= 500 || (is_known && answer.status == 404))
      problem(text);
    else
      report_.notes.push_back(text);
  }

  void judge_readiness(const std::string& table, const ProbeAnswer& answer) {
    if (answer.status == 404)
      problem(fmt::format("it has no table {}", in_quotes(table)));
    else if (!is_success(answer.status))
      problem(
          fmt::format("table {} is not ready there (status {})", in_quotes(table), answer.status));
  }

  void judge_ping() {
    if (target_.ping == nullptr || pings_.empty() || refused_) return;
    const auto told = target_.ping->describe(pings_, target_.name(), target_.tables.front());
    if (!told)
      problem(fmt::format("ping ({}): {}", target_.ping->name, cleaned(told.error())));
    else if (!told->why.empty())
      problem(fmt::format("ping ({}): {}", target_.ping->name, cleaned(told->why)));
  }

  void judge_tables() {
    if (!tables_) return;
    for (const auto& table : target_.tables) {
      const auto is_it = [&](const auto& row) { return lower(row.first) == lower(table); };
      if (std::ranges::any_of(*tables_, is_it)) continue;
      std::vector<std::string> names;
      for (const auto& [name, type] : *tables_) names.push_back(cleaned(name));
      problem(fmt::format("it has no table {}{}{}", in_quotes(table),
                          names.empty() ? " and no other" : "; it has ",
                          some_of(names, kMostNamed)));
    }
  }

  const ProbeTarget& target_;
  const std::span<const ProbeExchange> exchanges_;
  AgentReport report_;
  Engine engine_ = Engine::unknown;
  bool refused_ = false;
  std::vector<PingAnswer> pings_;
  std::optional<std::vector<std::pair<std::string, std::string>>> tables_;
};

/// How the columns differ; empty: they do not.
std::string difference(const std::map<std::string, std::string>& own,
                       const std::map<std::string, std::string>& other) {
  std::vector<std::string> parts;
  for (const auto& [name, type] : own) {
    const auto found = other.find(name);
    if (found == other.end())
      parts.push_back(fmt::format("{} is only here", name));
    else if (found->second != type)
      parts.push_back(fmt::format("{} is {} here and {} there", name, type, found->second));
  }
  for (const auto& [name, type] : other)
    if (!own.contains(name)) parts.push_back(fmt::format("{} is missing here", name));
  return parts.empty() ? std::string() : some_of(parts, kMostNamed);
}

std::string line_of(const ProbeTarget& target, const AgentReport& report) {
  std::string out = fmt::format("    {}", target.name());
  if (!target.is_routed) out += fmt::format(" ({})", fmt::join(target.tables, ", "));
  std::vector<std::string> facts;
  if (!report.engine.empty()) facts.push_back(report.engine);
  if (report.trip)
    facts.push_back(fmt::format("{:.1f} ms", static_cast<double>(report.trip->count()) / 1000));
  if (report.clock) facts.push_back(fmt::format("clock {:+} s", report.clock->count()));
  if (!report.columns.empty()) facts.push_back(counted_noun(report.columns.size(), "column"));
  out += fmt::format(": {}", report.problems.empty() ? "ok" : "PROBLEM");
  if (!facts.empty()) out += fmt::format("; {}", fmt::join(facts, ", "));
  out += '\n';
  for (const auto& problem : report.problems) out += fmt::format("      {}\n", problem);
  for (const auto& note : report.notes) out += fmt::format("      note: {}\n", note);
  return out;
}

}  // namespace

std::vector<ProbeTarget> probe_targets(const Settings& settings, Dialects dialects) {
  std::vector<ProbeTarget> targets;
  for (const auto& table : settings.tables) {
    const auto* const dialect = find_dialect(dialects, table.dialect.value);
    if (dialect == nullptr) continue;
    for (std::size_t i = 0; i < table.shards.size(); ++i)
      add_line(targets, table, table.shards[i], *dialect, fmt::format("shard {}", i + 1));
    for (std::size_t i = 0; i < table.blackholes.size(); ++i)
      add_line(targets, table, table.blackholes[i], *dialect, fmt::format("blackhole {}", i + 1));
  }
  return targets;
}

ProbeRequest banner_request() {
  return {.about = About::banner, .request = {.target = "/"}};
}

std::vector<ProbeRequest> further_requests(const ProbeTarget& target, Engine engine) {
  std::vector<ProbeRequest> requests;
  if (target.ping != nullptr)
    for (auto& each : target.ping->requests(
             target.ping_path, target.ping->about_table ? target.tables.front() : std::string()))
      requests.push_back({.about = About::ping, .request = std::move(each)});
  if (target.is_routed) {
    if (target.path.size() > 1)
      requests.push_back(
          {.about = About::path, .request = {.method = "HEAD", .target = target.path}});
    return requests;
  }
  const auto count = std::min(target.tables.size(), kMostTables);
  if (engine == Engine::karmad) {
    for (std::size_t i = 0; i < count; ++i)
      requests.push_back({.about = About::readiness,
                          .request = {.target = "/readyz?table=" + target.tables[i]},
                          .table = target.tables[i]});
    return requests;
  }
  requests.push_back({.about = About::version, .request = statement("SHOW STATUS LIKE 'version'")});
  requests.push_back({.about = About::tables, .request = statement("SHOW TABLES")});
  for (std::size_t i = 0; i < count; ++i)
    requests.push_back({.about = About::schema,
                        .request = statement("DESC " + target.tables[i]),
                        .table = target.tables[i]});
  return requests;
}

Engine engine_in(std::string_view banner) {
  const auto json = parse_answer(banner);
  if (!json) return Engine::unknown;
  if (text_member(*json, "name") == "karmad") return Engine::karmad;
  const auto* version = member(*json, "version");
  if (version != nullptr && text_member(*version, "distribution") == "opensearch")
    return Engine::opensearch;
  return text_member(*json, "tagline") == "You Know, for Search" ? Engine::elasticsearch
                                                                 : Engine::unknown;
}

AgentReport judge_probe(const ProbeTarget& target, std::span<const ProbeExchange> exchanges) {
  return ProbeJudge(target, exchanges).run();
}

void compare_columns(std::span<const ProbeTarget> targets, std::span<AgentReport> reports) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].columns.empty()) continue;
    const bool same_part = first && targets[*first].table == targets[i].table &&
                           targets[*first].part == targets[i].part;
    if (!same_part) {
      first = i;
      continue;
    }
    const auto differs = difference(reports[i].columns, reports[*first].columns);
    if (!differs.empty())
      reports[i].problems.push_back(
          fmt::format("its columns differ from those of {}: {}", targets[*first].name(), differs));
  }
}

std::string probe_text(std::span<const ProbeTarget> targets, std::span<const AgentReport> reports) {
  std::string out;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto& target = targets[i];
    const bool new_table = i == 0 || targets[i - 1].table != target.table;
    if (new_table) out += fmt::format("table {}\n", target.table);
    if (new_table || targets[i - 1].part != target.part) out += fmt::format("  {}\n", target.part);
    out += line_of(target, reports[i]);
  }
  const auto wrong = std::ranges::count_if(
      reports, [](const AgentReport& report) { return !report.problems.empty(); });
  out += fmt::format("probe: {}, {} problems\n", counted_noun(reports.size(), "agent"),
                     wrong == 0 ? "no" : fmt::format("{} with", wrong));
  return out;
}

}  // namespace karmad
