#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// The queries that a shard has answered: their number, and the fingerprints of the latest ones. A
/// query that was answered before is valid and harmless: an error that it gets later is the
/// mirror's. Each worker has its own cells, so an answer costs two plain stores; readers (only
/// after errors) look at all cells.
class AnsweredQueries {
 public:
  static constexpr std::size_t kRecent = 64;  ///< fingerprints per worker, at most
  static constexpr Micros kRemembered = std::chrono::minutes(10);

  explicit AnsweredQueries(unsigned workers = 1) : cells_(workers) {}
  AnsweredQueries& operator=(AnsweredQueries&&) = delete;

  /// Copies from `before`, which has as many workers. Before it is used.
  void take_over(const AnsweredQueries& before);

  /// On the worker's thread.
  void add(unsigned worker, std::size_t fingerprint, TimePoint now);
  std::uint64_t count() const;
  /// Whether a query with this fingerprint was answered in the last ten minutes. It may have been
  /// forgotten.
  bool contains(std::size_t fingerprint, TimePoint now) const;

 private:
  struct alignas(64) Cell {
    SingleWriter<std::uint64_t> count;
    std::array<SingleWriter<std::uint64_t>, kRecent> recent;  ///< part of the hash, and seconds
  };
  std::vector<Cell> cells_;
};

/// Requests that crashed two mirrors of a shard; they are refused for a while
/// (docs/decisions/043-requests-that-crash-mirrors.md). Keeps the fingerprints of the latest
/// kMost. Any thread; one load if there are none.
class CrashingRequests {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr Micros kRefused = std::chrono::minutes(5);

  CrashingRequests() = default;
  CrashingRequests& operator=(CrashingRequests&&) = delete;
  /// Copies all. Before it is used.
  void take_over(const CrashingRequests& before);

  /// Whether there ever was one.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void add(std::size_t fingerprint, TimePoint now);
  /// Whether the request crashed two mirrors in the last minutes.
  bool contains(std::size_t fingerprint, TimePoint now) const;

 private:
  struct Entry {
    std::size_t fingerprint = 0;
    std::optional<TimePoint> added;  ///< none: the entry is free
  };
  mutable std::mutex mutex_;
  std::array<Entry, kMost> entries_{};
  std::atomic<bool> any_{false};
};

/// What a shard has seen of one error text that no known phrase explains.
struct TextHistory {
  /// So many different queries in a row with one text …
  static constexpr std::size_t kMany = 8;
  /// … with fewer answered queries between them than this are the trouble of the set (if two of
  /// five queries are mistakes with this text, once in 80 times).
  static constexpr std::uint64_t kFew = 3;
  /// So many answered queries show that the mirrors work.
  static constexpr std::uint64_t kWorking = 8;
  /// After a mirror answered a query with this error, so many agreements in a row make it the
  /// queries' again (for two mirrors that fail 30 % of their searches, once in 15 000 times).
  static constexpr std::uint8_t kProof = 8;

  std::size_t different = 0;        ///< queries with this text, up to kMany
  std::uint64_t answered = 0;       ///< queries answered since the oldest of these
  std::uint64_t answered_ever = 0;  ///< queries that the shard ever answered
  std::uint8_t agreed = 0;          ///< agreements of mirrors in a row, up to kProof
  bool refuted = false;             ///< a mirror answered a query for which another gave this error

  /// Many different queries get this error, and few are answered.
  bool is_trouble_of_set() const { return different >= kMany && answered < kFew; }
};

/// The facts about one such error of a mirror, for one query.
struct ErrorFacts {
  std::size_t alike = 1;      ///< mirrors of the shard with this error for the query, this one too
  std::size_t proven = 0;     ///< those of them that answer other queries
  bool proven_left = false;   ///< a working mirror was not asked yet
  bool unknown_left = false;  ///< a mirror of unknown state was not asked yet
  bool one_shard = true;      ///< no other shard can give further evidence
  bool valid_query = false;   ///< the same query was answered in the last minutes
  bool spare_budget = true;   ///< the retry budget is at least half full
};

/// Who caused an error. `undecided`: another mirror decides.
enum class Cause : std::uint8_t { mirror, query, undecided };

/// The rule (docs/decisions/015-whose-mistake.md): an error is the mirror's until it is shown to be
/// the query's. It can be the query's only if the mirrors work (they answer other queries), the
/// query was never answered, no mirror answered a query with this error (unless many agreements
/// followed), and the text is not what most queries get. Then the same error from two mirrors shows
/// it, unless a mirror is left that may answer: three working mirrors are enough for any text, two
/// for a text that mirrors agreed on before. One is enough for such a text if no other mirror
/// works, or if the budget is needed for other queries. Pure.
Cause cause_of(const ErrorFacts& error, const TextHistory& text);

/// The form of a text in which errors of different queries are compared: digits and quotations are
/// replaced. Pure.
std::string error_class(std::string_view text);

/// The error texts of one shard without a known phrase, by class; hashes only, at most kMost.
/// Forgotten after ten minutes without use. Any thread; takes a lock, only for such errors.
class ErrorTexts {
 public:
  static constexpr std::size_t kMost = 32;
  static constexpr Micros kRemembered = std::chrono::minutes(10);
  /// The log names the same text at most once in this time …
  static constexpr Micros kSameLineEvery = std::chrono::minutes(1);
  /// … and any text at most once in this time.
  static constexpr Micros kLineEvery = std::chrono::seconds(1);

  ErrorTexts() = default;
  ErrorTexts& operator=(ErrorTexts&&) = delete;
  /// Copies all. Before it is used.
  void take_over(const ErrorTexts& before);

  /// A query got this error; `answered`: queries that the shard has answered until now.
  TextHistory got(std::string_view text, std::size_t fingerprint, std::uint64_t answered,
                  TimePoint now);
  /// The history without a new error.
  TextHistory history(std::string_view text, std::uint64_t answered, TimePoint now) const;
  /// All mirrors that were asked gave this error for a query.
  void agreed(std::string_view text);
  /// A mirror answered a query for which another one gave this error.
  void refuted(std::string_view text);
  /// A value when a log line about this text is due: the number of lines left out since the last
  /// one, for all texts.
  std::optional<std::uint64_t> line_due(std::string_view text, Cause about, TimePoint now);

 private:
  struct Seen {
    std::size_t fingerprint = 0;
    std::uint64_t answered = 0;
  };
  struct Entry {
    std::size_t hash = 0;
    TimePoint used{};
    std::array<Seen, TextHistory::kMany> different{};  ///< a ring
    std::size_t queries = 0;                           ///< put into it
    std::uint8_t agreed = 0;
    bool refuted = false;
    std::array<std::optional<TimePoint>, 2> logged{};  ///< as the mirrors' error, as the queries'
  };
  const Entry* find(std::size_t hash) const;
  Entry* find(std::size_t hash) { return const_cast<Entry*>(std::as_const(*this).find(hash)); }
  static TextHistory history_of(const Entry& entry, std::uint64_t answered);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::optional<TimePoint> logged_;
  std::uint64_t left_out_ = 0;
};

}  // namespace karmad
