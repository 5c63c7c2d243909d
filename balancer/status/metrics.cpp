#include "balancer/status/status_json.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace karmad {
namespace {

using enum StatKind;

Micros micros_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + Micros{time.tv_usec};
}

std::optional<std::uint64_t> count_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return std::nullopt;
  std::uint64_t entries = 0;
  while (::readdir(folder.get()) != nullptr) ++entries;
  constexpr std::uint64_t kOthers = 3;  // `.`, `..` and the folder itself
  return entries - kOthers;
}

void read_memory(ProcessNumbers& numbers) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen("/proc/self/statm", "re"), ::fclose);
  unsigned long long size = 0;
  unsigned long long resident = 0;
  if (!file || ::fscanf(file.get(), "%llu %llu", &size, &resident) != 2) return;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  numbers.virtual_memory = size * page;
  numbers.resident_memory = resident * page;
}

/// Number of units per unit of the metric.
double scale(Unit unit) {
  return unit == Unit::microseconds ? 1e6 : unit == Unit::milliseconds ? 1e3 : 1;
}

void append_escaped(std::string& out, std::string_view text) {
  if (text.find_first_of("\\\"\n") == text.npos) {
    out += text;
    return;
  }
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

void append_seconds(std::string& out, Micros time) {
  fmt::format_to(std::back_inserter(out), "{}", static_cast<double>(time.count()) / 1e6);
}

/// The labels without braces.
void append_labels(std::string& out, std::span<const Label> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i > 0) out += ',';
    out.append(labels[i].name) += "=\"";
    append_escaped(out, labels[i].value);
    out += '"';
  }
}

/// Collects lines by metric name, since the format groups them.
class Metrics final : public StatsWriter {
 public:
  std::string_view prefix = "karmad_";  ///< prefix of the names that follow

  /// Appends all lines, sorted by name.
  void append_to(std::string& out) const {
    std::size_t size = 0;
    for (const auto& [name, lines] : families_) size += lines.size();
    out.reserve(out.size() + size);
    for (const auto& [name, lines] : families_) out += lines;
  }

 private:
  using Family = std::pair<const std::string, std::string>;  // name, lines

  void put(const Stat& stat, const StatValue& value, std::span<const Label> labels) override {
    if (std::holds_alternative<std::monostate>(value.get())) return;
    auto& [name, lines] = family(stat, [&] {
      const bool is_summary = std::ranges::find(labels, "quantile", &Label::name) != labels.end();
      return stat.kind == StatKind::counter ? "counter" : is_summary ? "summary" : "gauge";
    });
    lines += name;
    if (!labels.empty()) {
      lines += '{';
      append_labels(lines, labels);
      lines += '}';
    }
    lines += ' ';
    append_value(lines, value, stat.unit);
    lines += '\n';
  }

  /// Buckets are cumulative in this format.
  void put_histogram(const Stat& stat, const Durations& durations,
                     std::span<const Label> labels) override {
    auto& [name, lines] = family(stat, [] { return "histogram"; });
    std::string all;
    append_labels(all, labels);
    const std::string_view comma = all.empty() ? "" : ",";
    const auto to = std::back_inserter(lines);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < durations.counts.size(); ++i) {
      count += durations.counts[i];
      fmt::format_to(to, "{}_bucket{{{}{}le=\"", name, all, comma);
      if (i < kDurationBounds.size())
        append_seconds(lines, kDurationBounds[i]);
      else
        lines += "+Inf";
      fmt::format_to(to, "\"}} {}\n", count);
    }
    const auto braced = all.empty() ? all : fmt::format("{{{}}}", all);
    fmt::format_to(to, "{}_sum{} ", name, braced);
    append_seconds(lines, durations.sum);
    fmt::format_to(to, "\n{}_count{} {}\n", name, braced, count);
  }

  /// The lines of that number, which begin with its help and type. With a thousand mirrors most
  /// calls are for a known number: these put no name together.
  template <class Type>
  Family& family(const Stat& stat, Type type) {
    auto& known = known_[{prefix.data(), stat.name.data(), stat.unit, stat.kind}];
    if (known == nullptr) {
      const std::string_view of_type = type();
      auto name = fmt::format("{}{}", prefix, stat.name);
      if (stat.unit == Unit::seconds || scale(stat.unit) != 1) name += "_seconds";
      if (stat.unit == Unit::bytes && stat.name.find("bytes") == stat.name.npos) name += "_bytes";
      if (of_type == "counter") name += "_total";
      known = &*families_.try_emplace(std::move(name)).first;
      if (known->second.empty())
        known->second =
            fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", known->first, stat.help, of_type);
    }
    return *known;
  }

  std::map<std::string, std::string> families_;
  /// By the texts' addresses, which live as long as the program.
  std::map<std::tuple<const char*, const char*, Unit, StatKind>, Family*> known_;
};

/// A number whose labels tell what it is about; always 1.
void add_info(Metrics& out, std::string_view name, std::string_view help,
              std::initializer_list<Label> labels) {
  out.add({name, help, StatKind::gauge}, 1U, labels);
}

void write_mirror(Metrics& out, const MirrorStatus& mirror) {
  add_info(out, "state", "1; the state of the mirror", {{"state", name(mirror.report.condition)}});
  write_shares(out, mirror);
  write(out, mirror.signals);
  write(out, mirror.standing);
  write_since_start(out, mirror);
}

void write_table(Metrics& out, const Snapshot& snapshot, const TableStatus& table) {
  out.prefix = "karmad_table_";
  out.add({"in_trouble", "1 if none of its last queries succeeded, or most are clients' mistakes",
           StatKind::gauge},
          std::uint64_t{!table.trouble.empty()});
  if (table.requests) write(out, *table.requests);
  out.labelled({"dialect", table.dialect}, [&] { write(out, table.totals); });
  std::size_t number = 0;
  for (const auto& shard : table.shards) {
    const auto shard_number = fmt::format("{}", ++number);
    out.labelled({"shard", shard_number}, [&] {
      out.prefix = "karmad_shard_";
      add_info(out, "info", "1; the strategy and the kind of the shard's mirror set",
               {{"strategy", shard.strategy}, {"kind", shard.kind}});
      write(out, shard.budget);
      write(out, shard.line);
      if (shard.outliers) write(out, *shard.outliers);
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

ProcessNumbers process_numbers() {
  ProcessNumbers numbers;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    numbers.cpu = micros_of(usage.ru_utime) + micros_of(usage.ru_stime);
  read_memory(numbers);
  numbers.open_fds = count_descriptors();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) numbers.max_fds = files.rlim_cur;
  return numbers;
}

void write(StatsWriter& out, const ProcessNumbers& process) {
  out.add({"cpu", "processor time of all threads", counter, Unit::seconds}, process.cpu);
  out.add({"resident_memory", "memory in use", gauge, Unit::bytes}, process.resident_memory);
  out.add({"virtual_memory", "address space in use", gauge, Unit::bytes}, process.virtual_memory);
  out.add({"open_fds", "open file descriptors", gauge}, process.open_fds);
  out.add({"max_fds", "most file descriptors at a time", gauge}, process.max_fds);
}

void append_metrics(std::string& out, const Snapshot& snapshot, const ProcessNumbers& system) {
  Metrics metrics;
  const auto& process = snapshot.process;
  add_info(metrics, "build_info", "1; the version that runs", {{"version", process.version}});
  write_begin(metrics, process);
  write_counters(metrics, process);
  metrics.prefix = "process_";
  write(metrics, system);
  write_start(metrics, process);
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
  metrics.append_to(out);
}

}  // namespace karmad
