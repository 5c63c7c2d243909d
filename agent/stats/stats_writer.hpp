#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/stats/histogram.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// A counter only grows while the process lives; a gauge is a current value.
enum class StatKind : std::uint8_t { counter, gauge };

/// The unit of a number in rows and documents. Metrics show all times in seconds.
enum class Unit : std::uint8_t { count, bytes, microseconds, milliseconds, seconds, share, flag };

/// As a key: the number is omitted there.
inline constexpr std::string_view kHidden = "-";

/// The description of a number. The texts live as long as the program.
struct Stat {
  std::string_view name;  ///< `[a-z_]+`; metrics add the unit and `_total`
  std::string_view help;
  StatKind kind = StatKind::counter;
  Unit unit = Unit::count;
  std::string_view row{};           ///< its key in SQL rows; empty: `name`
  std::string_view member{};        ///< its key in JSON documents; empty: `name`
  std::uint8_t decimals = 3;        ///< of a time, in rows
  bool zero_if_unmeasured = false;  ///< rows show 0 instead of `n/a` if not measured

  constexpr std::string_view row_key() const { return row.empty() ? name : row; }
  constexpr std::string_view member_key() const { return member.empty() ? name : member; }
};

/// The value of a limit that does not exist.
struct Unlimited {};

/// The value of a number with its type; never a text. Empty: not measured.
class StatValue {
 public:
  using Any =
      std::variant<std::monostate, std::uint64_t, std::int64_t, double, Micros, bool, Unlimited>;

  StatValue() = default;
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) StatValue(T value) : any_(std::uint64_t{value}) {}
  template <std::signed_integral T>
  StatValue(T value) : any_(std::int64_t{value}) {}
  template <std::same_as<bool> T>  // no pointers, which would be texts
  StatValue(T value) : any_(value) {}
  StatValue(double value) : any_(value) {}
  StatValue(Micros value) : any_(value) {}
  StatValue(Unlimited value) : any_(value) {}
  template <class T>
  StatValue(const std::optional<T>& value) {
    if (value) *this = StatValue(*value);
  }
  /// A limit; an empty value means unlimited.
  template <class T>
  static StatValue limit(const std::optional<T>& value) {
    return value ? StatValue(*value) : StatValue(Unlimited{});
  }

  const Any& get() const { return any_; }

 private:
  Any any_;
};

/// Distinguishes numbers of the same name. The texts are not copied.
struct Label {
  std::string_view name;
  std::string_view value;
};

/// Receives numbers one by one. Each counting type has a function `write(StatsWriter&, const
/// Type&)` that adds all its numbers; rows, documents and metrics are three writers. Adding
/// allocates nothing here. One thread.
class StatsWriter {
 public:
  void add(const Stat& stat, const StatValue& value, std::initializer_list<Label> more = {}) {
    const auto depth = depth_;
    for (const auto& label : more) push(label);
    put(stat, value, {labels_.data(), depth_});
    depth_ = depth;
  }

  /// Adds a number that rows do not show; `member` is its key in documents.
  void add(std::string_view name, std::string_view help, std::string_view member,
           const StatValue& value, StatKind kind = StatKind::counter, Unit unit = Unit::count) {
    add({name, help, kind, unit, kHidden, member}, value);
  }
  /// Adds a histogram. Only metrics show it.
  void add(const Stat& stat, const Durations& durations) {
    put_histogram(stat, durations, {labels_.data(), depth_});
  }

  /// Adds this label to everything that `body` adds.
  template <class Body>
  void labelled(Label label, Body body) {
    push(label);
    body();
    --depth_;
  }

 protected:
  StatsWriter() = default;
  ~StatsWriter() = default;

 private:
  virtual void put(const Stat& stat, const StatValue& value, std::span<const Label> labels) = 0;
  virtual void put_histogram(const Stat&, const Durations&, std::span<const Label>) {}

  void push(Label label) {
    assert(depth_ < labels_.size());
    labels_[depth_++] = label;
  }

  std::array<Label, 5> labels_;
  std::size_t depth_ = 0;
};

/// A number that was added, kept to be written later.
struct RecordedStat {
  Stat stat;
  StatValue value;
  std::array<Label, 2> labels{};
};

/// Keeps the numbers that are added to it, with at most two labels each.
class StatsRecorder final : public StatsWriter {
 public:
  std::vector<RecordedStat> take() { return std::move(stats_); }

 private:
  void put(const Stat& stat, const StatValue& value, std::span<const Label> labels) override;

  std::vector<RecordedStat> stats_;
};

void write(StatsWriter& out, std::span<const RecordedStat> stats);

}  // namespace karmad
