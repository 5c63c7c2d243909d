#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// One mirror as `karmad top` shows it.
struct TopMirror {
  std::string table;
  unsigned shard = 0;
  unsigned mirror = 0;
  std::string address;
  std::string state;
  std::string since;
  std::string role;
  std::string reason;
  std::string diagnosis;
  std::optional<double> share;   ///< of the attempts of its shard; 0 to 1
  std::optional<double> weight;  ///< 0 to 1
  std::optional<double> p50;     ///< ms
  std::optional<double> p95;
  std::optional<double> p99;
  std::uint64_t in_flight = 0;
  std::uint64_t errors_in_a_row = 0;
  std::uint64_t attempts = 0;  ///< since the start of karmad
};

/// The diagnosis of a shard in trouble, or of a further mirror of it, as GET /agents has it.
struct TopDiagnosis {
  int trouble = 0;
  std::string text;
};

struct TopEvent {
  std::uint64_t id = 0;
  std::string time;
  std::string message;
};

/// What `karmad top` shows. Texts are without control characters.
struct TopView {
  std::string version;
  std::string verdict;
  int worst = 0;      ///< trouble_of() the worst mirror of any table
  double uptime = 0;  ///< s
  std::vector<TopMirror> mirrors;
  std::vector<TopDiagnosis> diagnoses;               ///< in the order of the shards
  std::vector<TopEvent> events;                      ///< the newest last
  std::map<std::string, double, std::less<>> sums;   ///< counters of /status
  std::map<std::string, double, std::less<>> rates;  ///< per second
};

/// Reads the bodies of GET /agents, /status and /events. The error says which one is not what
/// karmad sends, or which tables there are. Rates and shares are those since the start of karmad;
/// `table`: only mirrors of that one, if not empty.
std::expected<TopView, std::string> read_top(std::string_view agents, std::string_view status,
                                             std::string_view events, std::string_view table);

/// Replaces rates and shares by those since an earlier view, `seconds` before.
void since(TopView& view, const TopView& earlier, double seconds);

/// The space and the abilities of a terminal.
struct TopStyle {
  std::size_t columns = 0;  ///< 0: unlimited
  std::size_t rows = 0;     ///< 0: unlimited
  bool colours = false;
  bool utf8 = true;
};

/// The lines of `karmad top`: the verdict, the rates, the mirrors with those in trouble first, the
/// diagnoses that the verdict does not have, the last events. No line is wider than the terminal,
/// apart from codes of colours; the verdict and the diagnoses are wrapped, other lines are cut.
std::vector<std::string> top_lines(const TopView& view, const TopStyle& style);

/// The same as one JSON document in one line.
std::string top_json(const TopView& view);

}  // namespace karmad
