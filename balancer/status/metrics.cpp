#include "balancer/status/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace karmad {
namespace {

/// Number of units per unit of the metric.
double scale(Unit unit) {
  return unit == Unit::microseconds ? 1e6 : unit == Unit::milliseconds ? 1e3 : 1;
}

bool is_time(Unit unit) {
  return unit == Unit::microseconds || unit == Unit::milliseconds || unit == Unit::seconds;
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
}

void append_value(std::string& out, const StatValue& value, Unit unit) {
  const auto to = std::back_inserter(out);
  std::visit(
      [&]<class T>(const T& of) {
        if constexpr (std::is_same_v<T, Micros>) {
          fmt::format_to(to, "{}", static_cast<double>(of.count()) / 1e6);
        } else if constexpr (std::is_same_v<T, bool>) {
          out += of ? '1' : '0';
        } else if constexpr (!std::is_arithmetic_v<T>) {
          out += "+Inf";
        } else if (scale(unit) != 1) {
          fmt::format_to(to, "{}", static_cast<double>(of) / scale(unit));
        } else {
          fmt::format_to(to, "{}", of);
        }
      },
      value.get());
}

/// Collects lines by metric name, since the format groups them.
class Metrics final : public StatsWriter {
 public:
  std::string_view prefix = "karmad_";  ///< prefix of the names that follow

  const auto& lines() const { return lines_; }

 private:
  void put(const Stat& stat, const StatValue& value, std::span<const Label> labels) override {
    if (std::holds_alternative<std::monostate>(value.get())) return;
    const bool counts = stat.kind == StatKind::counter;
    auto name = fmt::format("{}{}", prefix, stat.name);
    if (is_time(stat.unit)) name += "_seconds";
    if (stat.unit == Unit::bytes && stat.name.find("bytes") == stat.name.npos) name += "_bytes";
    if (counts) name += "_total";
    const bool is_summary = std::ranges::find(labels, "quantile", &Label::name) != labels.end();
    auto& lines = lines_[name];
    if (lines.empty())
      lines = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, stat.help,
                          counts       ? "counter"
                          : is_summary ? "summary"
                                       : "gauge");
    lines += name;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      lines.append(i == 0 ? "{" : ",").append(labels[i].name) += "=\"";
      append_escaped(lines, labels[i].value);
      lines += '"';
    }
    lines += labels.empty() ? " " : "} ";
    append_value(lines, value, stat.unit);
    lines += '\n';
  }

  std::map<std::string, std::string> lines_;
};

void write_mirror(Metrics& out, const MirrorStatus& mirror) {
  write_shares(out, mirror);
  write(out, mirror.standing);
  write_since_start(out, mirror);
}

void write_table(Metrics& out, const Snapshot& snapshot, const TableStatus& table) {
  out.prefix = "karmad_table_";
  if (table.requests) write(out, *table.requests);
  std::size_t number = 0;
  for (const auto& shard : table.shards) {
    const auto shard_number = fmt::format("{}", ++number);
    out.labelled({"shard", shard_number}, [&] {
      out.prefix = "karmad_shard_";
      write(out, shard.budget);
      write(out, shard.line);
      out.prefix = "karmad_mirror_";
      std::size_t place = 0;
      for (const auto& mirror : shard.mirrors) {
        const auto mirror_number = fmt::format("{}", ++place);
        out.labelled({"mirror", mirror_number}, [&] {
          out.labelled({"agent", snapshot.agents[mirror.agent].address},
                       [&] { write_mirror(out, mirror); });
        });
      }
    });
  }
}

}  // namespace

void append_metrics(std::string& out, const Snapshot& snapshot) {
  Metrics metrics;
  write_begin(metrics, snapshot.process);
  write_counters(metrics, snapshot.process);
  metrics.prefix = "karmad_agent_";
  for (const auto& agent : snapshot.agents)
    metrics.labelled({"agent", agent.address}, [&] {
      write_errors(metrics, agent.numbers);
      write_ping(metrics, agent.numbers);
      write_load(metrics, agent.numbers);
      write_times(metrics, agent.numbers);
      write(metrics, agent.latency);
    });
  for (const auto& table : snapshot.tables)
    metrics.labelled({"table", table.name}, [&] { write_table(metrics, snapshot, table); });
  for (const auto& [name, lines] : metrics.lines()) out += lines;
}

}  // namespace karmad
